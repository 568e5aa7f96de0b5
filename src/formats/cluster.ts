import { fault, InputError } from './errors.js';

/** Cluster holds the GPUs that exist, by class, and the network between their servers. */
export interface Cluster {
  $schema?: string;
  kind?: 'cluster';
  version?: string;
  devices: Record<string, DeviceClass>;
  /** The effective bandwidth of a server's link where its class has no linkGbps of its own. */
  networkGbps?: number;
  /** The time from the activation of a standby device until it serves. Default 0. */
  activationDelayMs?: number;
  /** The currency of all prices, such as USD, which is shown beside them. */
  currency?: string;
}

/** DeviceClass describes the GPUs of one class: how many there are, how each may be divided, and what one costs. */
export interface DeviceClass {
  /** The class of the profiles whose figures this class has, where that is another: this one is then its alias. */
  as?: string;
  /** The physical GPUs of this class. */
  count: number;
  /** The GPUs in one server, which share its link. Default 1. */
  perServer?: number;
  /** Each v allows v virtual GPUs of 1/v of a GPU. Default [1]. */
  virtual?: number[];
  hourlyCost?: number;
  powerWatts?: number;
  memoryGiB?: number;
  /** The GPUs that others already use. Default 0. */
  taken?: number;
  /** The effective bandwidth of one server's link, in each direction. */
  linkGbps?: number;
  /** The bandwidth between two GPUs of one server, in gigabits a second. For workflows; that of the server's link where absent. */
  gpuLinkGbps?: number;
  /** The memory of one server that keeps components of workflows which its GPUs do not hold. */
  hostMemoryGiB?: number;
  /** The bandwidth from a server's memory to one of its GPUs, in gigabytes a second. For workflows. */
  loadGBps?: number;
  /** The bandwidth from a server's disk to its memory, in gigabytes a second. For workflows. */
  diskGBps?: number;
}

/** OpenCluster is a cluster some of whose classes may have no limit, as where GPUs are rented. */
export interface OpenCluster extends Omit<Cluster, 'devices'> {
  devices: Record<string, OpenDeviceClass>;
}

/** OpenDeviceClass describes a class of GPUs of which there may be any number. */
export interface OpenDeviceClass extends Omit<DeviceClass, 'count'> {
  /** The physical GPUs of this class; any number where absent. */
  count?: number;
}

/** classGbps is the rate of a server's link of a class; undefined where the cluster names none. */
export function classGbps(
  { devices, networkGbps }: Pick<OpenCluster, 'devices' | 'networkGbps'>,
  className: string,
): number | undefined {
  return devices[className]?.linkGbps ?? networkGbps;
}

/**
 * linkGbps is the rate between devices of two classes, which is that of the slower of their links, or
 * undefined where the cluster names no rate of either. A rate of one Gbps is one bit per nanosecond.
 */
export function linkGbps(
  cluster: Pick<OpenCluster, 'devices' | 'networkGbps'>,
  [from, to]: readonly [string, string],
): number | undefined {
  return slowerGbps(classGbps(cluster, from), classGbps(cluster, to));
}

/** slowerGbps is the slower of two rates: a link whose rate nobody knows holds nothing up. */
export function slowerGbps(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

/**
 * countedCluster gives a cluster for a planner that needs the number of GPUs of every class.
 * @param path the file that holds it, for errors
 * @throws InputError with a fault for each class without a number
 */
export function countedCluster(cluster: OpenCluster, path: string): Cluster {
  const faults = Object.entries(cluster.devices).flatMap(([name, { count }]) =>
    count === undefined ? [fault('lacks "count"', `/devices/${name}`)] : [],
  );
  if (faults.length > 0) throw new InputError(`read ${path}`, faults);
  return cluster as Cluster;
}
