import type { TopologyRules } from '../serving/index.js';

/** TopologyOptions says how a plan becomes pools, devices and links. */
export interface TopologyOptions {
  /** `sloMs` is an SLO that replaces that of every model. */
  sloMs?: number;
  /**
   * `transfers` says whether a transfer takes the time that the cluster's links give it (bytes / link rate),
   * or none, as on one machine. The default is `links`.
   */
  transfers?: 'links' | 'none';
  /**
   * `rules` says which rules hold. `own`, the default, counts nanoseconds and numbers devices in the order of
   * the placement. `published` follows PPipe's published simulator: whole microseconds, and devices numbered
   * by pool.
   */
  rules?: TopologyRules;
  /**
   * `sharing` says which devices share a link: the virtual GPUs of a server (the default by our own rules),
   * or groups of consecutive devices of a pool (publishedLinks; the default by the published rules).
   */
  sharing?: 'servers' | 'worker-groups';
}
