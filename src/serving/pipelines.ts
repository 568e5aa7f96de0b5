import type { Durations } from './durations.js';
import type { PipelineChoice } from './policy.js';
import type { Topology } from './topology.js';

/** Which pipelines are up and how loaded each is; chooses one for a request. Pipelines are known by their first pool. */
export class Pipelines {
  /** First pool of each pool's pipeline. */
  readonly entryOf: Int32Array;
  private readonly devicesUp: Int32Array;
  private readonly poolsDown: Int32Array;
  private readonly inFlight: Int32Array;
  private readonly credit: Float64Array;

  constructor(
    private readonly topology: Topology,
    private readonly choice: PipelineChoice,
    private readonly durations: Durations,
  ) {
    const { pools } = topology;
    this.entryOf = Int32Array.from(pools, (pool, i) => i - pool.partition);
    this.devicesUp = new Int32Array(pools.length);
    this.poolsDown = new Int32Array(pools.length);
    for (const entry of this.entryOf) this.poolsDown[entry]! += 1;
    this.inFlight = new Int32Array(pools.length);
    this.credit = new Float64Array(pools.length);
  }

  deviceUp(pool: number): void {
    if (this.devicesUp[pool] === 0) this.poolsDown[this.entryOf[pool] as number]! -= 1;
    this.devicesUp[pool]! += 1;
  }

  /** @returns whether it was the pool's last */
  deviceDown(pool: number): boolean {
    this.devicesUp[pool]! -= 1;
    if (this.devicesUp[pool] !== 0) return false;
    this.poolsDown[this.entryOf[pool] as number]! += 1;
    return true;
  }

  /** Every pool of the pipeline from this one on has a device: what stands here can go on. O(stages) where some are down. */
  isUp(pool: number): boolean {
    if (this.poolsDown[this.entryOf[pool] as number] === 0) return true;
    for (let at: number | undefined = pool; at !== undefined; at = this.topology.pools[at]?.next) {
      if (this.devicesUp[at] === 0) return false;
    }
    return true;
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
    if (!this.isUp(entry)) return 0;
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
