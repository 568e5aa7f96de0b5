import type { Values } from './values.js';

/** What a run's folds have to know of its plan: numbers only. */
export interface RunShape {
  readonly models: number;
  /** Largest batch of each pool. */
  readonly poolBatch: ArrayLike<number>;
  /** Pool of each device (a virtual GPU). */
  readonly devicePool: ArrayLike<number>;
  /** Class of each device. */
  readonly deviceClass: ArrayLike<number>;
  /** The share of a GPU each device is: 1/v. */
  readonly deviceShare: ArrayLike<number>;
  readonly classes: number;
  /** Links of each device: which uplink its tensors leave by, which downlink they come by. */
  readonly uplinkOf: ArrayLike<number>;
  readonly downlinkOf: ArrayLike<number>;
  readonly uplinks: number;
  readonly downlinks: number;
  /** Reasons for a drop, numbered from 0. */
  readonly dropReasons: number;
  /** Requests arrive in [0, durationNs); device time is counted within it. */
  readonly durationNs: number;
}

/** How latencies are kept: Histogram in constant memory, ExactValues at 8 bytes each. */
export type MakeValues = () => Values;

/** Outcomes by number, as drivers tell them. */
export const OutcomeIndex = { inTime: 0, late: 1, dropped: 2, failed: 3 } as const;
export const OUTCOME_KINDS = 4;

export const NS_PER_MS = 1e6;
export const NS_PER_S = 1e9;

/** A share in [0, 1] of parts added up one by one: what rounding puts above 1 is 1. */
export function shareOf(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.min(1, part / whole);
}

export function sumOf(values: ArrayLike<number>, from = 0, end = values.length): number {
  let sum = 0;
  for (let i = from; i < end; i++) sum += values[i] as number;
  return sum;
}
