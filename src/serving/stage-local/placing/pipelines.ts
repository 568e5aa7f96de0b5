import type { Durations, PlanColumns, PoolsUp } from '../../state/index.js';
import type { Topology } from '../../topology.js';
import type { PipelineChoice } from '../policy.js';
import type { SharedState } from '../shared-state.js';

/**
 * Pipelines counts how loaded each pipeline is, and chooses one for a request. Pipelines are known by their
 * entries.
 */
export class Pipelines {
  private readonly inFlight: Int32Array;
  /** `credit` is how far each pipeline is behind its weighted turn (smooth weighted round robin). */
  private readonly credit: Float64Array;

  private readonly topology: Topology;
  private readonly columns: PlanColumns;
  private readonly durations: Durations;

  constructor(
    private readonly choice: PipelineChoice,
    private readonly poolsUp: PoolsUp,
    { topology, columns, durations }: Pick<SharedState, 'topology' | 'columns' | 'durations'>,
  ) {
    this.topology = topology;
    this.columns = columns;
    this.durations = durations;
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
   * choose takes the pipeline for a task: one that is up and fast enough; where there is none, one that is
   * up; else any. The choice `proportional` counts it as the pipeline's turn. O(pipelines of the model).
   * @returns the entry of the pipeline
   */
  choose(model: number, latestEnd: number, at: number): number {
    const entries = this.topology.models[model]?.entries as number[];
    if (entries.length === 1) return entries[0] as number;
    switch (this.choice.kind) {
      case 'proportional':
        return this.byCredit(entries, latestEnd, at);
      case 'least-loaded':
        return this.byLoad(entries, latestEnd, at);
    }
  }

  /**
   * grade ranks a pipeline: 2 where it is up and could meet the deadline without waiting, 1 where it is only
   * up, else 0.
   */
  private grade(entry: number, latestEnd: number, at: number): number {
    if (!this.poolsUp.isUp(entry)) return 0;
    return at + this.durations.workNs(entry, 1) <= latestEnd ? 2 : 1;
  }

  private byCredit(entries: number[], latestEnd: number, at: number): number {
    let grade = 0;
    for (const entry of entries) grade = Math.max(grade, this.grade(entry, latestEnd, at));
    let chosen = entries[0] as number;
    let most = Number.NEGATIVE_INFINITY;
    let total = 0;
    for (const entry of entries) {
      if (this.grade(entry, latestEnd, at) !== grade) continue;
      const rate = this.columns.throughputRps[entry] as number;
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

  private byLoad(entries: number[], latestEnd: number, at: number): number {
    const { inFlight } = this;
    const { throughputRps } = this.columns;
    let chosen = entries[0] as number;
    let best = 0;
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as number;
      const grade = this.grade(entry, latestEnd, at);
      if (grade < best) continue;
      if (grade > best) {
        best = grade;
        least = Number.POSITIVE_INFINITY;
        chosen = entries[0] as number;
      }
      const load = ((inFlight[entry] as number) + 1) / (throughputRps[entry] as number);
      if (load >= least) continue;
      least = load;
      chosen = entry;
    }
    return chosen;
  }
}
