import type { OpenCluster } from '../formats/index.js';

/** sharedDevices gives a plan the share of a cluster's devices that it names, as far as there are so many that are not taken. */
export function sharedDevices(
  { devices: named }: Pick<OpenCluster, 'devices'>,
  { devices }: Pick<OpenCluster, 'devices'>,
): OpenCluster['devices'] {
  const shared = Object.entries(devices).map(([name, device]) => {
    const { taken = 0, ...rest } = device;
    const count = named[name]?.count;
    const isShare = device.count !== undefined && count !== undefined && count <= device.count - taken;
    return [name, isShare ? { ...rest, count } : device] as const;
  });
  return Object.fromEntries(shared);
}
