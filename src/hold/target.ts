import type { HoldArrivals } from '../formats/index.js';

/** HoldTarget says what a plan is to hold. */
export interface HoldTarget {
  /** By model: the share of requests that must be in time. */
  readonly attainment: readonly number[];
  /** How requests arrive, and the coefficient of variation of the gaps between gamma arrivals. */
  readonly arrivals: HoldArrivals;
  readonly cv?: number | undefined;
  /** The most plans that are simulated. */
  readonly mostTrials: number;
}
