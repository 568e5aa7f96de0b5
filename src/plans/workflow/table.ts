import { smallestOf } from '../../collections/index.js';
import {
  BYTES_PER_GIB,
  classGbps,
  NS_PER_US,
  type OpenCluster,
  type WorkflowDevice,
} from '../../formats/index.js';
import type { DeviceMemory, HostMemory, WorkflowTable } from '../../serving/index.js';
import { type PlacedPool, type PlacedWorkflows, placedPools } from './placed.js';

/** A gigabit a second is a bit a nanosecond. */
const BITS_PER_BYTE = 8;

/**
 * HeldBy says which components devices hold at the start: those of a scheduler that moves components, or of one that
 * never does.
 */
export type HeldBy = 'moving' | 'static';

/**
 * workflowTableOf says what components need of the devices of a plan, and how outputs pass between these.
 * Resources that the cluster does not limit have no limit: the memory of servers, and links whose rates it
 * does not name. The network is as fast as the slowest link of a server that has devices here.
 */
export function workflowTableOf(plan: PlacedWorkflows, heldBy: HeldBy = 'moving'): WorkflowTable {
  const { components, placement, cluster } = plan;
  const pools = placedPools(plan);
  const servers = [...new Set(placement.map(({ server }) => server))];
  return {
    components: components.map(({ name }) => name),
    pools: pools.map(({ component, memoryBytes, onClass: { loadUs, diskUs } }) => ({
      component,
      bytes: memoryBytes,
      loadNs: Math.round(loadUs * NS_PER_US),
      diskNs: Math.round(diskUs * NS_PER_US),
    })),
    devices: placement.map((device) => deviceOf(device, { cluster, servers, pools, heldBy })),
    hosts: servers.map((server) => hostOf(server, plan)),
    networkBytesPerNs: networkRate(plan),
  };
}

function deviceOf(
  { server, class: name, holds, static: stays = holds }: WorkflowDevice,
  {
    cluster,
    servers,
    pools,
    heldBy,
  }: {
    readonly cluster: OpenCluster;
    readonly servers: readonly string[];
    readonly pools: readonly PlacedPool[];
    readonly heldBy: HeldBy;
  },
): DeviceMemory {
  const { memoryGiB, gpuLinkGbps = classGbps(cluster, name) } = cluster.devices[name] ?? {};
  const held = heldBy === 'static' ? stays : holds;
  return {
    bytes: memoryGiB === undefined ? Number.POSITIVE_INFINITY : memoryGiB * BYTES_PER_GIB,
    host: servers.indexOf(server),
    linkBytesPerNs: rateOf(gpuLinkGbps),
    holds: held.flatMap((component) =>
      pools.flatMap((pool, p) => (pool.name === component && pool.onClass.device === name ? [p] : [])),
    ),
  };
}

/** hostOf gives the memory of a server, whose devices are all of one class. */
function hostOf(server: string, { placement, cluster }: PlacedWorkflows): HostMemory {
  const name = placement.find((device) => device.server === server)?.class ?? '';
  const { hostMemoryGiB } = cluster.devices[name] ?? {};
  return { bytes: hostMemoryGiB === undefined ? Number.POSITIVE_INFINITY : hostMemoryGiB * BYTES_PER_GIB };
}

function networkRate({ placement, cluster }: PlacedWorkflows): number {
  const rates = [...new Set(placement.map((device) => device.class))].map((name) =>
    rateOf(classGbps(cluster, name)),
  );
  return smallestOf(rates);
}

function rateOf(gbps: number | undefined): number {
  return gbps === undefined ? Number.POSITIVE_INFINITY : gbps / BITS_PER_BYTE;
}
