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
}

/** DeviceClass describes the GPUs of one class: how many there are, how each may be divided, and what one costs. */
export interface DeviceClass {
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
