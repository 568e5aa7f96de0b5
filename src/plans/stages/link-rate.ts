import type { OpenCluster } from '../../artifacts/index.js';

/**
 * linkGbps is the rate of the slower of the links at both ends, or undefined where the cluster names no rate.
 * One Gbps is one bit per nanosecond.
 */
export function linkGbps(
  { devices, networkGbps }: Pick<OpenCluster, 'devices' | 'networkGbps'>,
  classes: readonly string[],
): number | undefined {
  const rates = classes
    .map((name) => devices[name]?.linkGbps ?? networkGbps)
    .filter((rate) => rate !== undefined);
  return rates.length === 0 ? undefined : Math.min(...rates);
}
