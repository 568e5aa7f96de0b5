import type { Durations } from './durations.js';
import type { Pool } from './topology.js';

/** What a batch at one stage takes if the later stages take full ones. Times in nanoseconds. */
export class PlannedBatches {
  constructor(
    private readonly pools: readonly Pool[],
    private readonly durations: Durations,
  ) {}

  /** The largest planned batch, or of at most `most`, that is in time when it begins at `start`; 0 where none is. */
  largest(pool: number, start: number, latestEnd: number, most: number): number {
    const latest = latestEnd - this.laterNs(pool);
    let size = Math.min(most, this.pools[pool]?.batch as number);
    while (size > 0 && start + this.stepNs(pool, size) > latest) size -= 1;
    return size;
  }

  /** The last moment to begin a batch, time for its own transfer counted or not. */
  lastStart(pool: number, size: number, latestEnd: number, leaves: 'transfer' | 'nothing'): number {
    const step = leaves === 'transfer' ? this.stepNs(pool, size) : this.durations.executionNs(pool, size);
    return latestEnd - this.laterNs(pool) - step;
  }

  /** Execution and the way to the next stage. */
  private stepNs(pool: number, size: number): number {
    return this.durations.executionNs(pool, size) + this.durations.transferNs(pool, size);
  }

  private laterNs(pool: number): number {
    let sum = 0;
    for (let next = this.pools[pool]?.next; next !== undefined; next = this.pools[next]?.next)
      sum += this.stepNs(next, this.pools[next]?.batch as number);
    return sum;
  }
}
