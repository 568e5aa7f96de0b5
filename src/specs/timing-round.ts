import type { PlannedPartition } from '../formats/index.js';

/** TimingRound holds the results of one round of timing a plan's partitions. */
export interface TimingRound {
  /** The number of figures: one per partition and batch size. */
  readonly timed: number;
  /** The figure that the plan had furthest off, at the plan's own batch sizes. */
  readonly furthest: FurthestFigure | undefined;
  readonly notes: readonly string[];
}

/** FurthestFigure is a partition's latency as it was planned, and as it was measured. */
export interface FurthestFigure {
  readonly model: string;
  readonly partition: PlannedPartition;
  readonly batch: number;
  readonly plannedUs: number;
  readonly measuredUs: number;
}
