import { NONE as SHARED_NONE } from '../../../collections/index.js';
import type { Durations, PlanColumns } from '../../state/index.js';

const NONE = SHARED_NONE;

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
   * @param device the device that executes it; NONE is whichever comes
   */
  largest(pool: number, start: number, latestEnd: number, most: number, device = NONE): number {
    const latest = latestEnd - this.durations.fullRestNs(pool);
    let size = Math.min(most, this.columns.batch[pool] as number);
    while (size > 0 && start + this.durations.stepNs(pool, size, device) > latest) size -= 1;
    return size;
  }

  /**
   * lastStart is the last moment to begin a batch. `leaves` says whether time for its own transfer counts.
   */
  lastStart(
    pool: number,
    size: number,
    latestEnd: number,
    leaves: 'transfer' | 'nothing',
    device = NONE,
  ): number {
    const { durations } = this;
    const latest = latestEnd - durations.fullRestNs(pool);
    switch (leaves) {
      case 'transfer':
        return latest - durations.stepNs(pool, size, device);
      case 'nothing':
        return latest - durations.executionNs(pool, size, device);
    }
  }
}
