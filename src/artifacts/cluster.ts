/** Cluster holds the GPUs that exist, by class, and the network between their servers. */
export interface Cluster {
  $schema?: string;
  kind?: 'cluster';
  version?: string;
  devices: Record<string, DeviceClass>;
  /** The effective bandwidth of a server's link where its class has no linkGbps of its own. */
  networkGbps?: number;
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
