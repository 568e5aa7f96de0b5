import type { Durations } from '../state/index.js';
import type { Pool } from '../topology.js';

/** What a batch at one stage takes if the later stages take full ones. Times in nanoseconds. */
export class PlannedBatches {
  constructor(
    private readonly pools: readonly Pool[],
    private readonly durations: Durations,
  ) {}

  /** The largest planned batch, or of at most `most`, that is in time when it begins at `start`; 0 where none is. */
  largest(pool: number, start: number, latestEnd: number, most: number): number {
    const latest = latestEnd - this.durations.fullRestNs(pool);
    let size = Math.min(most, this.pools[pool]?.batch as number);
    while (size > 0 && start + this.durations.stepNs(pool, size) > latest) size -= 1;
    return size;
  }

  /** The last moment to begin a batch, time for its own transfer counted or not. */
  lastStart(pool: number, size: number, latestEnd: number, leaves: 'transfer' | 'nothing'): number {
    const { durations } = this;
    const step = leaves === 'transfer' ? durations.stepNs(pool, size) : durations.executionNs(pool, size);
    return latestEnd - durations.fullRestNs(pool) - step;
  }
}
