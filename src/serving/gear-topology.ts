import type { Gear, GearPlan, GearStage, GearStep } from '../artifacts/index.js';
import { linksByServer } from './links.js';
import { stageDevices } from './pipeline-topology.js';
import {
  type Edge,
  filledLatencies,
  type GearTable,
  linkGbps,
  type Pool,
  type ServedGear,
  type Topology,
  type TopologyOptions,
} from './topology.js';

const NS_PER_MS = 1e6;

/**
 * gearTopologyOf makes the topology of a gear plan: one application, a pool for each model, and an edge wherever a gear
 * goes from one model to another. It is pure, and its cost is linear in the plan.
 */
export function gearTopologyOf(
  plan: GearPlan,
  options: Pick<TopologyOptions, 'sloMs' | 'transfers'> = {},
): Topology {
  const pools = plan.stages.map((stage, i) => poolOf(plan, { stage, i, transfers: options.transfers }));
  const devices = stageDevices(plan, pools);
  const sloNs = Math.round((options.sloMs ?? plan.sloMs) * NS_PER_MS);
  const application = { name: plan.name, sloNs, throughputRps: plan.maxRps, entries: [0] };
  return {
    models: [application],
    pools,
    devices,
    links: linksByServer(devices),
    gears: gearTableOf(plan),
  };
}

function poolOf(
  plan: GearPlan,
  {
    stage,
    i,
    transfers,
  }: { readonly stage: GearStage; readonly i: number; readonly transfers: TopologyOptions['transfers'] },
): Pool {
  const { device, virtual, batch, latencyUsByBatch, name } = stage;
  const edges = followers(plan, name).map((to) => edgeOf(plan, stage, { to, transfers }));
  return {
    ...{ model: 0, pipeline: 0, partition: i, stage: name, deviceClass: device, virtual, batch },
    latencyNs: filledLatencies(latencyUsByBatch, batch),
    transferNs: Float64Array.from({ length: batch }, (_, row) =>
      Math.max(0, ...edges.map(({ transferNs }) => transferNs[row] as number)),
    ),
    transferBytes: Math.max(0, ...edges.map(({ transferBytes }) => transferBytes)),
    throughputRps: plan.maxRps,
    devices: [],
    edges,
  };
}

/** followers lists the stages that a gear goes to from a stage. */
function followers({ gears, stages }: GearPlan, name: string): number[] {
  const names = gears.flatMap(({ cascade }) =>
    cascade.flatMap(({ stage }, step) => (stage === name ? [cascade[step + 1]?.stage] : [])),
  );
  return stages.flatMap((stage, i) => (names.includes(stage.name) ? [i] : []));
}

/** What is sent along an edge is what the request brought, since every model is fed from it. */
function edgeOf(
  { stages, cluster }: GearPlan,
  { device, batch }: GearStage,
  { to, transfers }: { readonly to: number; readonly transfers: TopologyOptions['transfers'] },
): Edge {
  const next = stages[to] as GearStage;
  const gbps = linkGbps(cluster, [device, next.device]);
  const rowNs = transfers === 'none' || gbps === undefined ? 0 : (8 * next.transferBytes) / gbps;
  return {
    to,
    // The threshold is that of the gear by which a task is served.
    when: { kind: 'unsure', below: 0 },
    transferNs: Float64Array.from({ length: batch }, (_, row) => Math.round((row + 1) * rowNs)),
    transferBytes: next.transferBytes,
  };
}

function gearTableOf({ gears, stages, switching, slo }: GearPlan): GearTable {
  const names = stages.map(({ name }) => name);
  return {
    intervalNs: Math.round(switching.intervalMs * NS_PER_MS),
    alpha: switching.alpha,
    ...(slo.accuracy === undefined ? {} : { plannedRps: meanRps(gears) }),
    gears: gears.map(
      ({ toRps, timeoutMs, cascade }): ServedGear => ({
        toRps,
        timeoutNs: Math.round(timeoutMs * NS_PER_MS),
        steps: cascade.map(({ stage, threshold, minQueue, loadShares }: GearStep) => ({
          pool: names.indexOf(stage),
          below: threshold ?? Number.NEGATIVE_INFINITY,
          minQueue,
          ...(loadShares.length > 0 ? { shares: Float64Array.from(loadShares) } : {}),
        })),
      }),
    ),
  };
}

/** meanRps is the mean rate over the planned distribution of loads. */
function meanRps(gears: readonly Gear[]): number {
  return gears.reduce((sum, { fromRps, toRps, share }) => sum + (share * (fromRps + toRps)) / 2, 0);
}
