import type { Durations, PoolsUp } from '../state/index.js';
import type { Topology } from '../topology.js';
import type { PipelineChoice } from './policy.js';

/** How loaded each pipeline is; chooses one for a request. Pipelines are known by their first pool. */
export class Pipelines {
  private readonly inFlight: Int32Array;
  private readonly credit: Float64Array;

  constructor(
    private readonly topology: Topology,
    private readonly choice: PipelineChoice,
    private readonly durations: Durations,
    private readonly poolsUp: PoolsUp,
  ) {
    this.inFlight = new Int32Array(topology.pools.length);
    this.credit = new Float64Array(topology.pools.length);
  }

  entered(entry: number): void {
    this.inFlight[entry]! += 1;
  }

  left(entry: number): void {
    this.inFlight[entry]! -= 1;
  }

  /**
   * The pipeline for a task: among those up and fast enough; where there is none, among those up; else among all.
   * @returns its first pool. O(pipelines of the model)
   */
  choose(model: number, latestEnd: number, at: number): number {
    const entries = this.topology.models[model]?.entries as number[];
    if (entries.length === 1) return entries[0] as number;
    let best = 0;
    for (const entry of entries) best = Math.max(best, this.grade(entry, latestEnd, at));
    return this.choice.kind === 'proportional'
      ? this.byCredit(entries, best, latestEnd, at)
      : this.byLoad(entries, best, latestEnd, at);
  }

  private grade(entry: number, latestEnd: number, at: number): number {
    if (!this.poolsUp.isUp(entry)) return 0;
    return at + this.durations.workNs(entry, 1) <= latestEnd ? 2 : 1;
  }

  private byCredit(entries: number[], grade: number, latestEnd: number, at: number): number {
    let chosen = entries[0] as number;
    let most = Number.NEGATIVE_INFINITY;
    let total = 0;
    for (const entry of entries) {
      if (this.grade(entry, latestEnd, at) !== grade) continue;
      const rate = this.topology.pools[entry]?.throughputRps as number;
      total += rate;
      const credit = (this.credit[entry] as number) + rate;
      this.credit[entry] = credit;
      if (credit > most) {
        most = credit;
        chosen = entry;
      }
    }
    this.credit[chosen]! -= total;
    return chosen;
  }

  private byLoad(entries: number[], grade: number, latestEnd: number, at: number): number {
    let chosen = entries[0] as number;
    let least = Number.POSITIVE_INFINITY;
    for (const entry of entries) {
      if (this.grade(entry, latestEnd, at) !== grade) continue;
      const load =
        ((this.inFlight[entry] as number) + 1) / (this.topology.pools[entry]?.throughputRps as number);
      if (load < least) {
        least = load;
        chosen = entry;
      }
    }
    return chosen;
  }
}
