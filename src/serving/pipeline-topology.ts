import { type PipelinePlan, type PlannedEdge, type PlannedStage, seatsOf } from '../artifacts/index.js';
import { linksByServer } from './links.js';
import {
  type Edge,
  filledLatencies,
  linkGbps,
  type Pool,
  type Topology,
  type TopologyOptions,
  type VirtualDevice,
} from './topology.js';

const NS_PER_MS = 1e6;

/**
 * pipelineTopologyOf makes the topology of a pipeline plan: one application whose stages are those of the plan, in their
 * order. Stages that follow one another without a choice, a split or a merge are a chain. It is pure, and its cost is
 * linear in the plan.
 */
export function pipelineTopologyOf(
  plan: PipelinePlan,
  options: Pick<TopologyOptions, 'sloMs' | 'transfers'> = {},
): Topology {
  const pools = plan.stages.map((stage, i) => poolOf(plan, stage, i, options.transfers));
  if (isChain(plan)) {
    pools.forEach((pool, i) => {
      delete pool.edges;
      if (i + 1 < pools.length) pool.next = i + 1;
    });
  }
  const devices = stageDevices(plan, pools);
  const sloNs = Math.round((options.sloMs ?? plan.sloMs) * NS_PER_MS);
  const application = { name: plan.name, sloNs, throughputRps: plan.throughputRps, entries: [0] };
  return { models: [application], pools, devices, links: linksByServer(devices) };
}

/** isChain tells whether each stage but the last leads to the one after it, always and to no other. */
function isChain({ stages }: PipelinePlan): boolean {
  return stages.every(({ next }, i) => {
    const [edge] = next;
    if (i === stages.length - 1) return edge === undefined;
    return edge !== undefined && next.length === 1 && edge.to === stages[i + 1]?.name && isAlways(edge);
  });
}

function isAlways({ probability, when }: PlannedEdge): boolean {
  return probability === undefined && when === undefined;
}

function poolOf(
  plan: PipelinePlan,
  stage: PlannedStage,
  partition: number,
  transfers: TopologyOptions['transfers'],
): Pool {
  const { device, virtual, batch, latencyUsByBatch } = stage;
  const edges = stage.next.map((edge) => edgeOf(plan, stage, edge, transfers));
  const rows = Array.from({ length: batch }, (_, row) => row);
  return {
    ...{ model: 0, pipeline: 0, partition, stage: stage.name, deviceClass: device, virtual, batch },
    latencyNs: filledLatencies(latencyUsByBatch, batch),
    transferNs: Float64Array.from(rows, (row) =>
      Math.max(0, ...edges.map(({ transferNs }) => transferNs[row] as number)),
    ),
    transferBytes: Math.max(0, ...edges.map(({ transferBytes }) => transferBytes)),
    throughputRps: plan.throughputRps,
    devices: [],
    edges,
  };
}

function edgeOf(
  { stages, cluster }: PipelinePlan,
  { device, batch }: PlannedStage,
  edge: PlannedEdge,
  transfers: TopologyOptions['transfers'],
): Edge {
  const to = stages.findIndex(({ name }) => name === edge.to);
  const gbps = linkGbps(cluster, [device, (stages[to] as PlannedStage).device]);
  const rowNs = transfers === 'none' || gbps === undefined ? 0 : (8 * edge.transferBytes) / gbps;
  return {
    to,
    when: { kind: isAlways(edge) ? 'always' : 'verdict' },
    transferNs: Float64Array.from({ length: batch }, (_, row) => Math.round((row + 1) * rowNs)),
    transferBytes: edge.transferBytes,
  };
}

/** StagesPlaced is what a plan says of where its stages are. */
type StagesPlaced = Pick<PipelinePlan, 'placement' | 'cluster'> & {
  readonly stages: readonly { readonly name: string }[];
};

/** stageDevices lists the devices of a plan's placement, and adds each to the pools of the stages that it holds. */
export function stageDevices(
  { stages, placement, cluster }: StagesPlaced,
  pools: readonly Pool[],
): VirtualDevice[] {
  const onGpu = new Map<string, number>();
  return Array.from(seatsOf(placement, cluster.devices), ({ place, server, gpu }, device) => {
    const [pool = 0, ...otherPools] = stages.flatMap(({ name }, stage) =>
      place.stages.includes(name) ? [stage] : [],
    );
    for (const served of [pool, ...otherPools]) pools[served]?.devices.push(device);
    const name = `${server}/gpu${gpu}`;
    const k = onGpu.get(name) ?? 0;
    onGpu.set(name, k + 1);
    return {
      ...{ name: `${name}/${k}`, pool, server, gpu, deviceClass: place.class, virtual: place.virtual },
      ...(otherPools.length > 0 ? { otherPools } : {}),
      ...(place.standby === true ? { standby: true } : {}),
    };
  });
}
