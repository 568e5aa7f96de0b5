import type { DeviceProfile } from '../artifacts/index.js';

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

/** isSummed says whether a latency is the sum of blocks that were measured apart. */
export function isSummed(device: DeviceProfile, virtual: number, batch: number): boolean {
  const blocks = device.blockLatencyUs[virtual]?.[batch] ?? [];
  return device.wholeLatencyUs?.[virtual]?.[batch] === undefined && blocks.length > 1;
}
