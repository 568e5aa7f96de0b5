import {
  type DeviceProfile,
  type LatencyQuantile,
  type MeasuredCells,
  type Profile,
  wholeLatencyUs,
} from '../formats/index.js';

/** MeasuredClass is a device class of a profile at a virtual size, and the quantile of its latencies that is asked for. */
export interface MeasuredClass {
  readonly device: DeviceProfile;
  readonly virtual: number;
  /** By default the median. */
  readonly quantile?: LatencyQuantile | undefined;
}

/**
 * measuredBatches lists the batch sizes of which a profile has the latency of a whole model on a class at a virtual size, in
 * order. A run that was interrupted leaves out what it did not come to.
 */
export function measuredBatches(measured: MeasuredClass): number[] {
  return Object.keys(measured.device.blockLatencyUs[measured.virtual] ?? {})
    .map(Number)
    .filter((batch) => (latencyUs(measured, batch) ?? 0) > 0)
    .sort((a, b) => a - b);
}

function latencyUs({ device, virtual, quantile = 'p50' }: MeasuredClass, batch: number): number | undefined {
  return wholeLatencyUs(device, { virtual, batch, quantile });
}

/**
 * usedBatches lists the measured batch sizes whose latencies `latencyUsByBatch` has: up to `batch`, and the next larger one
 * where `batch` itself was not measured.
 */
function usedBatches(measured: MeasuredClass, batch: number): number[] {
  const sizes = measuredBatches(measured);
  const last = sizes.find((size) => size >= batch) ?? batch;
  return sizes.filter((size) => size <= last);
}

/**
 * latencyUsByBatch gives the latency at batch 1 … batch, null where the profile has none. The last is that of the next
 * larger batch which was measured, where there is one.
 */
export function latencyUsByBatch(measured: MeasuredClass, batch: number): (number | null)[] {
  const next = measuredBatches(measured).find((size) => size >= batch) ?? batch;
  return Array.from({ length: batch }, (_, i) => latencyUs(measured, i + 1 === batch ? next : i + 1) ?? null);
}

/** ServingClass is a device class that serves a model in batches of at most `batch`. */
export interface ServingClass extends Omit<MeasuredClass, 'device'> {
  readonly device: string;
  readonly batch: number;
}

/**
 * classFigures names the figures that a plan is made of where a class serves a model in batches: those of every batch size
 * that `latencyUsByBatch` has.
 */
export function classFigures(
  { devices }: Profile,
  { device: className, virtual, quantile, batch }: ServingClass,
): MeasuredCells {
  const device = devices[className] as DeviceProfile;
  const batches = usedBatches({ device, virtual, quantile }, batch);
  return { className, cells: batches.map((size) => ({ virtual, batch: size })) };
}

/** isSummed says whether a latency is the sum of blocks that were measured apart. */
export function isSummed(device: DeviceProfile, virtual: number, batch: number): boolean {
  const blocks = device.blockLatencyUs[virtual]?.[batch] ?? [];
  return device.wholeLatencyUs?.[virtual]?.[batch] === undefined && blocks.length > 1;
}
