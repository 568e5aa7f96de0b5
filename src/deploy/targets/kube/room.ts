import { planTopologyOf, type StagePlan } from '../../../plans/index.js';

/** Parts of a GPU that sum to a whole may miss it by so much. */
const PART_ERROR = 1e-9;

/** RoomAsked is what pods that are alike ask of nodes: each pod finds all that it asks on one node. */
export interface RoomAsked {
  readonly deviceClass: string;
  /** Into how many parts the GPUs of its nodes are divided, of which it asks for some; 1 where it asks for whole GPUs. */
  readonly level: number;
  readonly amount: number;
  readonly pods: number;
}

/** hasNodeRoom returns whether nodes have enough that is free for pods beside those of the plan. A class without a number has. */
export function hasNodeRoom(plan: StagePlan, asked: readonly RoomAsked[]): boolean {
  const divided = new Set(asked.flatMap(({ deviceClass, level }) => (level > 1 ? [deviceClass] : [])));
  const nodes = nodesOf(plan, divided).map((node) => ({ ...node }));
  // The largest find their place first.
  return [...asked]
    .sort((a, b) => b.amount - a.amount)
    .every(({ deviceClass, level, amount, pods }) => {
      if (plan.cluster.devices[deviceClass]?.count === undefined) return true;
      let left = pods;
      for (const node of nodes) {
        if (left === 0) break;
        if (node.deviceClass !== deviceClass || node.level !== level) continue;
        const fitting = Math.min(left, Math.floor(node.free / amount + PART_ERROR));
        node.free -= fitting * amount;
        left -= fitting;
      }
      return left === 0;
    });
}

interface RoomNode {
  readonly deviceClass: string;
  /** Into how many parts its label divides its GPUs. Nodes of which the plan uses nothing have no such label. */
  readonly level: number;
  /** How many GPUs, or of a divided node shares, are free on it. */
  readonly free: number;
}

const NODES = new WeakMap<StagePlan, Map<string, readonly RoomNode[]>>();

/**
 * nodesOf gives the nodes of a plan's classes, each with what is free on it. Nodes of some classes are
 * divided by labels.
 */
function nodesOf(plan: StagePlan, divided: ReadonlySet<string>): readonly RoomNode[] {
  const known = NODES.get(plan) ?? new Map<string, readonly RoomNode[]>();
  NODES.set(plan, known);
  const key = JSON.stringify([...divided].sort());
  const found = known.get(key) ?? freeNodes(plan, divided);
  known.set(key, found);
  return found;
}

function freeNodes(plan: StagePlan, divided: ReadonlySet<string>): RoomNode[] {
  const used = new Map<string, { deviceClass: string; level: number; gpus: Set<number>; shares: number }>();
  for (const { server, gpu, deviceClass, virtual } of planTopologyOf(plan, { transfers: 'none' }).devices) {
    const found = used.get(server) ?? { deviceClass, level: 1, gpus: new Set(), shares: 0 };
    used.set(server, found);
    found.level = Math.max(found.level, divided.has(deviceClass) ? virtual : 1);
    found.gpus.add(gpu);
    found.shares++;
  }
  const classes = new Set([...used.values()].map(({ deviceClass }) => deviceClass));
  return [...classes].flatMap((deviceClass) =>
    serverSizes(plan, deviceClass).map(([server, gpus]) => {
      const { level, gpus: own, shares } = used.get(server) ?? { level: 1, gpus: { size: 0 }, shares: 0 };
      return { deviceClass, level, free: level === 1 ? gpus - own.size : gpus * level - shares };
    }),
  );
}

/** serverSizes lists the servers of a class with the GPUs of each that are not others': the last ones are theirs. */
function serverSizes({ cluster }: StagePlan, deviceClass: string): [server: string, gpus: number][] {
  const { count = 0, taken = 0, perServer = 1 } = cluster.devices[deviceClass] ?? {};
  const servers = Math.max(0, Math.ceil((count - taken) / perServer));
  return Array.from({ length: servers }, (_, i) => [
    `${deviceClass}-${i}`,
    Math.min(perServer, count - taken - i * perServer),
  ]);
}
