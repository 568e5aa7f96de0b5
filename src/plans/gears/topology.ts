import { itemAt } from '../../collections/index.js';
import type { Gear, GearPlan, GearStage, GearStep } from '../../formats/index.js';
import { NS_PER_MS } from '../../formats/index.js';
import type { Edge, GearTable, Pool, ServedGear, StageTopology } from '../../serving/index.js';
import { linksByServer } from '../../serving/index.js';
import { stageDevices, stagePool, transfersAlong } from '../stages/index.js';
import type { TopologyOptions } from '../topology-options.js';

/**
 * gearTopologyOf makes the topology of a gear plan: one application, a pool for each model, and an edge wherever a gear
 * goes from one model to another. It is pure, and its cost is linear in the plan.
 */
export function gearTopologyOf(
  plan: GearPlan,
  options: Pick<TopologyOptions, 'sloMs' | 'transfers'> = {},
): StageTopology {
  const pools = plan.stages.map((stage, index) =>
    poolOf(plan, { stage, index, transfers: options.transfers }),
  );
  const devices = stageDevices(plan, pools);
  const sloNs = Math.round((options.sloMs ?? plan.sloMs) * NS_PER_MS);
  const application = { name: plan.name, sloNs, throughputRps: plan.maxRps, entries: [0] };
  return {
    models: [application],
    pools,
    devices,
    links: linksByServer(devices),
    routes: { kind: 'cascade', gears: gearTableOf(plan) },
  };
}

/** The tensors sent along an edge are those of the request, since every model is fed from it. */
function poolOf(
  plan: GearPlan,
  {
    stage,
    index,
    transfers,
  }: {
    readonly stage: GearStage;
    readonly index: number;
    readonly transfers: TopologyOptions['transfers'];
  },
): Pool {
  const edges = followers(plan, stage.name).map((to): Edge => {
    const next = itemAt(plan.stages, to);
    return {
      to,
      // The threshold is that of the gear by which a task is served.
      when: { kind: 'unsure', below: 0 },
      ...transfersAlong(plan.cluster, { from: stage, to: next, bytes: next.transferBytes }, transfers),
    };
  });
  return stagePool({ stage, index, throughputRps: plan.maxRps, edges });
}

/** followers lists the stages that a gear goes to from a stage. */
function followers({ gears, stages }: GearPlan, name: string): number[] {
  const names = gears.flatMap(({ cascade }) =>
    cascade.flatMap(({ stage }, step) => (stage === name ? [cascade[step + 1]?.stage] : [])),
  );
  return stages.flatMap((stage, i) => (names.includes(stage.name) ? [i] : []));
}

function gearTableOf({ gears, stages, switching, slo, objective }: GearPlan): GearTable {
  // Gears that were chosen for a lower rate than comes would break a latency that is promised.
  const isOnlyAccurate =
    slo.accuracy !== undefined && slo.latencyMs === undefined && objective.kind !== 'latency';
  const names = stages.map(({ name }) => name);
  return {
    intervalNs: Math.round(switching.intervalMs * NS_PER_MS),
    alpha: switching.alpha,
    ...(isOnlyAccurate ? { plannedRps: meanRps(gears) } : {}),
    gears: gears.map(
      ({ toRps, timeoutMs, cascade }): ServedGear => ({
        toRps,
        timeoutNs: Math.round(timeoutMs * NS_PER_MS),
        steps: cascade.map(({ stage, threshold, visits, minQueue, loadShares }: GearStep) => ({
          pool: names.indexOf(stage),
          below: threshold ?? Number.NEGATIVE_INFINITY,
          minQueue,
          visits,
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
