import type { DeviceProfile } from '../artifacts/index.js';

/** measuredBatches lists the batch sizes that a profile has for a class at a virtual size, in order. */
export function measuredBatches(device: DeviceProfile, virtual: number): number[] {
  return Object.keys(device.blockLatencyUs[virtual] ?? {})
    .map(Number)
    .sort((a, b) => a - b);
}

/**
 * latencyUs gives the latency of a whole model at a batch size: as it was measured in one piece, or else the sum of its
 * blocks. It is undefined where neither is known.
 */
export function latencyUs(device: DeviceProfile, virtual: number, batch: number): number | undefined {
  const whole = device.wholeLatencyUs?.[virtual]?.[batch];
  if (whole !== undefined) return whole;
  const blocks = device.blockLatencyUs[virtual]?.[batch];
  if (blocks === undefined || blocks.some((us) => us === null)) return undefined;
  return blocks.reduce((all: number, us) => all + (us as number), 0);
}

/** latencyUsByBatch gives the latency at batch 1 … batch, null where the profile has none. */
export function latencyUsByBatch(device: DeviceProfile, virtual: number, batch: number): (number | null)[] {
  return Array.from({ length: batch }, (_, i) => latencyUs(device, virtual, i + 1) ?? null);
}

/** isSummed says whether a latency is the sum of blocks that were measured apart. */
export function isSummed(device: DeviceProfile, virtual: number, batch: number): boolean {
  const blocks = device.blockLatencyUs[virtual]?.[batch] ?? [];
  return device.wholeLatencyUs?.[virtual]?.[batch] === undefined && blocks.length > 1;
}
