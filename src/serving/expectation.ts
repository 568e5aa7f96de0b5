import type { FeedbackCorrection } from './policy.js';
import type { Pool } from './topology.js';

const LEAST_RATIO = 0.25;
const MOST_RATIO = 16;

/** How long work is expected to take: the plan's latencies, each pool's scaled by what executions there really took. */
export class Expectation {
  private readonly ratio: Float64Array;
  private readonly weight: number;

  constructor(
    private readonly pools: readonly Pool[],
    correction: FeedbackCorrection,
  ) {
    this.ratio = new Float64Array(pools.length).fill(1);
    this.weight = correction.kind === 'average' ? correction.weight : 0;
  }

  /** From the start of a batch of `size` in the pool to the answer, without queueing. Nanoseconds. */
  workNs(index: number, size: number): number {
    let pool = this.pools[index] as Pool;
    if (this.weight === 0) return (pool.latencyNs[size - 1] as number) + (pool.restNs[size - 1] as number);
    let rows = size;
    let work = (this.ratio[index] as number) * (pool.latencyNs[rows - 1] as number);
    while (pool.next !== undefined) {
      work += pool.transferNs[rows - 1] as number;
      const next = this.pools[pool.next] as Pool;
      rows = Math.min(rows, next.batch);
      work += (this.ratio[pool.next] as number) * (next.latencyNs[rows - 1] as number);
      pool = next;
    }
    return work;
  }

  /** Executing a batch of `size`. Nanoseconds. */
  executionNs(index: number, size: number): number {
    const planned = (this.pools[index] as Pool).latencyNs[size - 1] as number;
    return (this.ratio[index] as number) * planned;
  }

  /** `workNs` by the plan alone, uncorrected. */
  plannedWorkNs(index: number, size: number): number {
    const pool = this.pools[index] as Pool;
    return (pool.latencyNs[size - 1] as number) + (pool.restNs[size - 1] as number);
  }

  /**
   * Expectations from here on move towards the plan's: called when they alone forbid what the plan allows. Else a pool once
   * found slow would be given nothing, and nothing would show that it has recovered.
   */
  relax(index: number): void {
    for (let at: number | undefined = index; at !== undefined; at = this.pools[at]?.next) {
      const ratio = this.ratio[at] as number;
      if (ratio > 1) this.ratio[at] = ratio + this.weight * (1 - ratio);
    }
  }

  /** An execution ended. */
  observe(index: number, size: number, tookNs: number): void {
    const planned = (this.pools[index] as Pool).latencyNs[size - 1] as number;
    if (this.weight === 0 || planned === 0) return;
    const measured = Math.min(Math.max(tookNs / planned, LEAST_RATIO), MOST_RATIO);
    this.ratio[index]! += this.weight * (measured - (this.ratio[index] as number));
  }
}
