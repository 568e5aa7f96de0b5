import { itemAt } from '../../collections/index.js';
import type { HostMemory, Topology, WorkflowTable } from '../../serving/index.js';
import type { PlacedWorkflows } from './placed.js';
import { type HeldBy, workflowTableOf } from './table.js';
import { workflowTopologyOf } from './topology.js';

/** Subcluster is a group of a plan's devices, which has a scheduler of its own. */
export interface Subcluster {
  readonly topology: Topology;
  readonly table: WorkflowTable;
  /** Its devices, by their places in the plan's placement, in the order of the topology. */
  readonly devices: readonly number[];
}

/**
 * subclustersOf divides a plan into its groups of devices, by their numbers (DyOrc §7). Schedulers know nothing of one
 * another, so that of the memory of a server with devices of several groups each has the part that its devices are of
 * those of the plan.
 * @throws what `workflowTopologyOf` throws
 */
export function subclustersOf(plan: PlacedWorkflows, heldBy: HeldBy = 'moving'): Subcluster[] {
  const { placement } = plan;
  const numbers = [...new Set(placement.map(({ subcluster = 0 }) => subcluster))].sort((a, b) => a - b);
  const onServer = countedBy(placement.map(({ server }) => server));
  return numbers.map((number) => {
    const devices = placement.flatMap(({ subcluster = 0 }, i) => (subcluster === number ? [i] : []));
    const part = { ...plan, placement: devices.map((i) => itemAt(placement, i)) };
    const table = workflowTableOf(part, heldBy);
    const here = countedBy(part.placement.map(({ server }) => server));
    const hosts = [...here].map(
      ([server, count], host): HostMemory => ({
        bytes: (itemAt(table.hosts, host).bytes * count) / (onServer.get(server) as number),
      }),
    );
    return { topology: workflowTopologyOf(part), table: { ...table, hosts }, devices };
  });
}

/** countedBy counts names, in the order in which they come first. */
function countedBy(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
