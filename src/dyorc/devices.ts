import type { OpenCluster, WorkflowDevice } from '../formats/index.js';
import { freeGpus } from '../pipeline/index.js';

/** BareDevice is a device of which nobody has said yet what it holds. */
export type BareDevice = Omit<WorkflowDevice, 'holds' | 'static'>;

/** ClassCount is how many devices of a class there are. */
export interface ClassCount {
  readonly device: string;
  readonly count: number;
}

/** freeDevices lists the devices of a cluster that are free, by class. Every class has a count. */
export function freeDevices({ devices }: Pick<OpenCluster, 'devices'>): ClassCount[] {
  return Object.entries(devices).map(([device, known]) => ({ device, count: freeGpus(known) ?? 0 }));
}

/** byPrice lists classes from the cheapest to the dearest; those of equal or unknown prices as they stand. */
export function byPrice(
  { devices }: Pick<OpenCluster, 'devices'>,
  classes: readonly ClassCount[],
): ClassCount[] {
  const price = ({ device }: ClassCount): number => devices[device]?.hourlyCost ?? Number.POSITIVE_INFINITY;
  return classes.toSorted((a, b) => (price(a) === price(b) ? 0 : price(a) - price(b)));
}

/**
 * cheapestDevices takes a given number of the devices, those of the cheapest class first; of equal or unknown prices,
 * of the class that stands first.
 */
export function cheapestDevices(
  cluster: Pick<OpenCluster, 'devices'>,
  free: readonly ClassCount[],
  wanted: number,
): ClassCount[] {
  let left = wanted;
  const taken = new Map<string, number>();
  for (const { device, count } of byPrice(cluster, free)) {
    taken.set(device, Math.min(left, count));
    left -= Math.min(left, count);
  }
  return free.map(({ device }) => ({ device, count: taken.get(device) ?? 0 }));
}

/**
 * usedCluster is a cluster with a given number of devices of each class, of which none is taken. Classes without any
 * are left out.
 */
export function usedCluster(cluster: OpenCluster, counts: readonly ClassCount[]): OpenCluster {
  const devices = counts.flatMap(({ device, count }) => {
    const { taken: _, ...known } = cluster.devices[device] ?? {};
    return count === 0 ? [] : [[device, { ...known, count }] as const];
  });
  return { ...cluster, devices: Object.fromEntries(devices) };
}

/**
 * devicesInGroups lists devices by class and server, each with its group. Servers are dealt to the groups in turn;
 * where there are fewer servers than groups, devices are.
 */
export function devicesInGroups(
  { devices }: Pick<OpenCluster, 'devices'>,
  counts: readonly ClassCount[],
  groups: number,
): BareDevice[] {
  const all = counts.flatMap(({ device, count }) => {
    const { perServer = 1 } = devices[device] ?? {};
    return Array.from({ length: count }, (_, i) => ({
      server: `${device}-${Math.floor(i / perServer)}`,
      gpu: i % perServer,
      class: device,
    }));
  });
  if (groups === 1) return all;
  const servers = [...new Set(all.map(({ server }) => server))];
  const turnOf = new Map(servers.map((server, turn) => [server, turn]));
  return all.map((device, i) => ({
    ...device,
    subcluster: (servers.length < groups ? i : (turnOf.get(device.server) as number)) % groups,
  }));
}

/** byGroup divides devices, given by their places, into their groups. */
export function byGroup(devices: readonly BareDevice[]): number[][] {
  const groups = new Map<number, number[]>();
  for (const [d, { subcluster = 0 }] of devices.entries())
    groups.set(subcluster, [...(groups.get(subcluster) ?? []), d]);
  return [...groups].sort(([a], [b]) => a - b).map(([, places]) => places);
}
