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

  /** An execution ended. */
  observe(index: number, size: number, tookNs: number): void {
    const planned = (this.pools[index] as Pool).latencyNs[size - 1] as number;
    if (this.weight === 0 || planned === 0) return;
    const measured = Math.min(Math.max(tookNs / planned, LEAST_RATIO), MOST_RATIO);
    this.ratio[index]! += this.weight * (measured - (this.ratio[index] as number));
  }
}
