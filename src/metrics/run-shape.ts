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
  /** The devices that come and go in the run; absent where all are there from beginning to end. */
  readonly scaling?: RunScaling;
}

/** RunScaling says which devices of a run are in use at its beginning. */
export interface RunScaling {
  /** By device: 1 where it is in use at the beginning, else 0. */
  readonly inUse: ArrayLike<number>;
  /** The pools of each device. */
  readonly poolsOf: readonly (readonly number[])[];
}

/** devicesInUse counts the devices of each pool that are in use at the beginning. */
export function devicesInUse({ poolDevices, scaling }: RunShape): Float64Array {
  if (scaling === undefined) return Float64Array.from(poolDevices);
  const counts = new Float64Array(poolDevices.length);
  scaling.poolsOf.forEach((pools, device) => {
    for (const pool of pools) counts[pool]! += scaling.inUse[device] as number;
  });
  return counts;
}

/** gpusInUse adds up the GPUs of each class that are in use at the beginning. */
export function gpusInUse({ classes, deviceClass, deviceShare, scaling }: RunShape): Float64Array {
  const gpus = new Float64Array(classes);
  for (let device = 0; device < deviceClass.length; device++)
    gpus[deviceClass[device] as number]! += (deviceShare[device] as number) * (scaling?.inUse[device] ?? 1);
  return gpus;
}

/**
 * MakeValues chooses how latencies are kept: a Histogram in constant memory, or ExactValues at 8 bytes each.
 */
export type MakeValues = () => Values;

/** OutcomeIndex numbers the outcomes as drivers report them. */
export const OutcomeIndex = { inTime: 0, late: 1, dropped: 2, failed: 3 } as const;

/** OUTCOME_KINDS is the number of outcomes in `OutcomeIndex`. */
export const OUTCOME_KINDS = 4;

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
