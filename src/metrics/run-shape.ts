import type { Values } from './values.js';

/** RunShape holds the numbers of a plan that a run's folds need. */
export interface RunShape {
  readonly models: number;
  /** The largest batch of each pool. */
  readonly poolBatch: ArrayLike<number>;
  /** The number of devices (virtual GPUs) of each pool. A device of several pools counts in each. */
  readonly poolDevices: ArrayLike<number>;
  /** The class of each device. */
  readonly deviceClass: ArrayLike<number>;
  /** The share of a GPU that each device is: 1/v. */
  readonly deviceShare: ArrayLike<number>;
  readonly classes: number;
  /** The uplink that each device's tensors leave by, and the downlink that they come by. */
  readonly uplinkOf: ArrayLike<number>;
  readonly downlinkOf: ArrayLike<number>;
  readonly uplinks: number;
  readonly downlinks: number;
  /** The number of reasons for a drop. Reasons are numbered from 0. */
  readonly dropReasons: number;
  /** Requests arrive in [0, durationNs), and device time is counted within it. */
  readonly durationNs: number;
}

/**
 * MakeValues chooses how latencies are kept: a Histogram in constant memory, or ExactValues at 8 bytes each.
 */
export type MakeValues = () => Values;

/** OutcomeIndex numbers the outcomes as drivers report them. */
export const OutcomeIndex = { inTime: 0, late: 1, dropped: 2, failed: 3 } as const;

/** OUTCOME_KINDS is the number of outcomes in `OutcomeIndex`. */
export const OUTCOME_KINDS = 4;

export const NS_PER_MS = 1e6;
export const NS_PER_S = 1e9;

/**
 * shareOf gives part / whole as a share, 0 where the whole is 0. A sum may exceed the whole by rounding, so the share
 * is cut to 1.
 */
export function shareOf(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.min(1, part / whole);
}

/** sumOf adds up the values from index `from` to before `end`. */
export function sumOf(values: ArrayLike<number>, from = 0, end = values.length): number {
  let sum = 0;
  for (let i = from; i < end; i++) sum += values[i] as number;
  return sum;
}
