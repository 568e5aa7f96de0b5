import type { Durations, PlanColumns } from '../state/index.js';

/**
 * PlannedBatches judges a batch at one stage, if the later stages execute full batches. Times are in
 * nanoseconds.
 */
export class PlannedBatches {
  constructor(
    private readonly columns: PlanColumns,
    private readonly durations: Durations,
  ) {}

  /**
   * largest is the largest batch of at most `most` tasks that is in time when it begins at `start`: 0 where
   * none is.
   */
  largest(pool: number, start: number, latestEnd: number, most: number): number {
    const latest = latestEnd - this.durations.fullRestNs(pool);
    let size = Math.min(most, this.columns.batch[pool] as number);
    while (size > 0 && start + this.durations.stepNs(pool, size) > latest) size -= 1;
    return size;
  }

  /**
   * lastStart is the last moment to begin a batch. `leaves` says whether time for its own transfer counts.
   */
  lastStart(pool: number, size: number, latestEnd: number, leaves: 'transfer' | 'nothing'): number {
    const { durations } = this;
    const latest = latestEnd - durations.fullRestNs(pool);
    switch (leaves) {
      case 'transfer':
        return latest - durations.stepNs(pool, size);
      case 'nothing':
        return latest - durations.executionNs(pool, size);
    }
  }
}
