import type { Pool } from '../serving/index.js';

/**
 * PlannedSteps holds the planned times of executions and transfers, in nanoseconds, in one column for all
 * pools.
 */
export class PlannedSteps {
  /** `rowOf[pool] + b` is the index of a batch of b. */
  private readonly rowOf: Int32Array;
  private readonly latencyNs: Float64Array;
  private readonly sendingNs: Float64Array;

  constructor(pools: readonly Pool[]) {
    this.rowOf = new Int32Array(pools.length);
    let rows = 0;
    pools.forEach(({ batch }, pool) => {
      this.rowOf[pool] = rows - 1;
      rows += batch;
    });
    this.latencyNs = new Float64Array(rows);
    this.sendingNs = new Float64Array(rows);
    pools.forEach(({ latencyNs, transferNs }, pool) => {
      this.latencyNs.set(latencyNs, (this.rowOf[pool] as number) + 1);
      this.sendingNs.set(transferNs, (this.rowOf[pool] as number) + 1);
    });
  }

  executionNs(pool: number, size: number): number {
    return this.latencyNs[(this.rowOf[pool] as number) + size] as number;
  }

  transferNs(pool: number, size: number): number {
    return this.sendingNs[(this.rowOf[pool] as number) + size] as number;
  }
}
