/** The GPUs there are, by class, and the network between their servers. */
export interface Cluster {
  $schema?: string;
  kind?: 'cluster';
  version?: string;
  devices: Record<string, DeviceClass>;
  /** Effective bandwidth of a server's link where its class has no linkGbps of its own. */
  networkGbps?: number;
}

export interface DeviceClass {
  /** Physical GPUs of this class. */
  count: number;
  /** GPUs in one server; they share its link. Default 1. */
  perServer?: number;
  /** v means v virtual GPUs of 1/v each. Default [1]. */
  virtual?: number[];
  hourlyCost?: number;
  powerWatts?: number;
  memoryGiB?: number;
  /** GPUs already in use by others. Default 0. */
  taken?: number;
  /** Effective bandwidth of one server's link, each direction. */
  linkGbps?: number;
}
