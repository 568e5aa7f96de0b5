import type { LatencyQuantile } from './pipeline-spec.js';
import type { DeviceProfile } from './profile.js';

/** WholeAt names one latency of a whole model on a device class. */
export interface WholeAt {
  readonly virtual: number;
  readonly batch: number;
  /** By default the median. */
  readonly quantile?: LatencyQuantile;
}

/**
 * wholeLatencyUs gives the latency of the whole model on a class: as it was measured in one piece, or else the sum of its
 * blocks. It is undefined where neither is known. The 95th percentile is known only of models of one block, because those
 * of several do not add up.
 */
export function wholeLatencyUs(
  device: DeviceProfile | undefined,
  { virtual, batch, quantile = 'p50' }: WholeAt,
): number | undefined {
  switch (quantile) {
    case 'p50':
      return device?.wholeLatencyUs?.[virtual]?.[batch] ?? blocksUs(device, virtual, batch);
    case 'p95': {
      const [us, ...others] = device?.blockLatencyP95Us?.[virtual]?.[batch] ?? [];
      return others.length === 0 && typeof us === 'number' && us > 0 ? us : undefined;
    }
  }
}

function blocksUs(device: DeviceProfile | undefined, virtual: number, batch: number): number | undefined {
  const blocks = device?.blockLatencyUs[virtual]?.[batch];
  return blocks === undefined ? undefined : summedUs(blocks);
}

/** summedUs adds up latencies that were measured apart; it is undefined where one of them was not measured. */
export function summedUs(row: readonly (number | null)[]): number | undefined {
  let sum = 0;
  for (const us of row) {
    if (us === null) return undefined;
    sum += us;
  }
  return sum;
}
