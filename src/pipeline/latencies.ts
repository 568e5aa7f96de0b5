import type { DeviceProfile, MeasuredCells, Profile } from '../artifacts/index.js';

/**
 * measuredBatches lists the batch sizes of which a profile has the latency of a whole model on a class at a virtual size, in
 * order. A run that was interrupted leaves out what it did not come to.
 */
export function measuredBatches(device: DeviceProfile, virtual: number): number[] {
  return Object.keys(device.blockLatencyUs[virtual] ?? {})
    .map(Number)
    .filter((batch) => (latencyUs(device, virtual, batch) ?? 0) > 0)
    .sort((a, b) => a - b);
}

/**
 * latencyUs gives the latency of a whole model at a batch size: as it was measured in one piece, or else the sum of its
 * blocks. It is undefined where neither is known.
 */
function latencyUs(device: DeviceProfile, virtual: number, batch: number): number | undefined {
  const whole = device.wholeLatencyUs?.[virtual]?.[batch];
  if (whole !== undefined) return whole;
  const blocks = device.blockLatencyUs[virtual]?.[batch];
  if (blocks === undefined || blocks.some((us) => us === null)) return undefined;
  return blocks.reduce((all: number, us) => all + (us as number), 0);
}

/**
 * usedBatches lists the measured batch sizes whose latencies `latencyUsByBatch` has: up to `batch`, and the next larger one
 * where `batch` itself was not measured.
 */
function usedBatches(device: DeviceProfile, virtual: number, batch: number): number[] {
  const measured = measuredBatches(device, virtual);
  const last = measured.find((size) => size >= batch) ?? batch;
  return measured.filter((size) => size <= last);
}

/**
 * latencyUsByBatch gives the latency at batch 1 … batch, null where the profile has none. The last is that of the next
 * larger batch which was measured, where there is one.
 */
export function latencyUsByBatch(device: DeviceProfile, virtual: number, batch: number): (number | null)[] {
  const next = measuredBatches(device, virtual).find((measured) => measured >= batch) ?? batch;
  return Array.from(
    { length: batch },
    (_, i) => latencyUs(device, virtual, i + 1 === batch ? next : i + 1) ?? null,
  );
}

/**
 * classFigures names the figures that a plan is made of where a class serves a model in batches of at most `batch`: those
 * of every batch size that `latencyUsByBatch` has.
 */
export function classFigures(
  { devices }: Profile,
  { device, virtual, batch }: { readonly device: string; readonly virtual: number; readonly batch: number },
): MeasuredCells {
  const batches = usedBatches(devices[device] as DeviceProfile, virtual, batch);
  return { className: device, cells: batches.map((size) => ({ virtual, batch: size })) };
}

/** isSummed says whether a latency is the sum of blocks that were measured apart. */
export function isSummed(device: DeviceProfile, virtual: number, batch: number): boolean {
  const blocks = device.blockLatencyUs[virtual]?.[batch] ?? [];
  return device.wholeLatencyUs?.[virtual]?.[batch] === undefined && blocks.length > 1;
}
