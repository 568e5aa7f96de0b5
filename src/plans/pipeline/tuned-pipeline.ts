import { itemAt } from '../../collections/index.js';
import { fault, NS_PER_MS, type PipelinePlan } from '../../formats/index.js';
import type { ChosenScheduler } from '../../serving/index.js';
import {
  needsLoad,
  type TunedPlan,
  type TunedSet,
  type TunerName,
  tunerSettings,
} from '../../serving/index.js';
import type { AskedTuner, Tuned } from '../plan-of.js';
import { heldTogether, withSpares } from './spares.js';
import { pipelineTopologyOf } from './topology.js';

/**
 * tunedPipeline gives a pipeline the tuner that is asked for. It comes back with the standby devices that the tuner may
 * activate: unless it is to do with those of the plan, all that `withSpares` adds.
 */
export function tunedPipeline(
  plan: PipelinePlan,
  scheduler: ChosenScheduler,
  { tuner, at, onlyStandby }: AskedTuner,
): Tuned {
  const none = { plan, scheduler, faults: [] };
  const { kind } = tuner;
  const settings = tunerSettings(tuner);
  const said = [
    ...[loadFaults(plan, kind), rateFaults(plan, kind), classFaults(plan, kind)],
    schedulerFaults(scheduler),
  ];
  const faults = said.flat().map((text) => fault(text, at));
  if (settings === undefined || faults.length > 0) return { ...none, faults };
  const spared = onlyStandby ? plan : withSpares(plan);
  return { plan: spared, scheduler: { ...scheduler, tuner: tunedPlanOf(spared, settings) }, faults: [] };
}

function loadFaults({ rps, envelope }: PipelinePlan, kind: TunerName): string[] {
  const isKnown = rps !== undefined && (kind === 'oracle' || envelope !== undefined);
  if (!needsLoad(kind) || isKnown) return [];
  return [
    `is ${kind}, which keeps the slack of a load, and the plan has none: solve it with a load in its spec`,
  ];
}

/** rateFaults names the stages without a throughput, or without the slack that the tuner keeps. */
function rateFaults({ stages, shared = [] }: PipelinePlan, kind: TunerName): string[] {
  const slow = stages.filter(({ throughputRps }) => !(throughputRps > 0)).map(({ name }) => name);
  const slack = [...stages, ...shared].filter(({ maxProvisioningRatio }) => maxProvisioningRatio === 0);
  return [
    ...(slow.length === 0 ? [] : [`is ${kind}, and ${slow.join(', ')} has a throughput of 0`]),
    ...(needsLoad(kind) && slack.length > 0
      ? [`is ${kind}, which keeps the slack of a load, and a maxProvisioningRatio of the plan is 0`]
      : []),
  ];
}

/** classFaults names the stages with replicas of several classes, as a tuner counts devices that are alike. */
function classFaults({ stages }: PipelinePlan, kind: TunerName): string[] {
  const unequal = stages.filter(({ others }) => others !== undefined).map(({ name }) => name);
  if (kind === 'none' || unequal.length === 0) return [];
  const have = unequal.length === 1 ? 'has' : 'have';
  return [
    `is ${kind}, and ${unequal.join(', ')} ${have} replicas of several classes, which no tuner changes`,
  ];
}

function schedulerFaults({ name, policy: { scaling } }: ChosenScheduler): string[] {
  return [
    ...(name === 'reservation'
      ? ['changes the replicas, and the scheduler reservation needs devices that stay']
      : []),
    ...(scaling === undefined
      ? []
      : ['stands beside a schedule of devices in the policy; leave one of them out']),
  ];
}

/** tunedPlanOf gives what a tuner needs of a plan that has the standby devices which the tuner may activate. */
function tunedPlanOf(plan: PipelinePlan, settings: TunedPlan['settings']): TunedPlan {
  const { pools } = pipelineTopologyOf(plan);
  const limits = Object.entries(plan.classes).flatMap(([name, { count }]) =>
    count === undefined ? [] : [[name, count] as const],
  );
  const { envelope, cluster } = plan;
  return {
    settings,
    sets: heldTogether(plan).map((names) => setOf(plan, names, (pool) => pools[pool]?.devices.length ?? 0)),
    gpus: Object.fromEntries(limits),
    ...(envelope === undefined ? {} : { envelope }),
    activationDelayNs: Math.round(NS_PER_MS * (cluster.activationDelayMs ?? 0)),
  };
}

function setOf(
  { stages, shared = [] }: PipelinePlan,
  names: readonly string[],
  devicesOf: (pool: number) => number,
): TunedSet {
  const pools = stages.flatMap(({ name }, pool) => (names.includes(name) ? [pool] : []));
  const own = pools.map((pool) => itemAt(stages, pool));
  const [first] = own as [PipelinePlan['stages'][number]];
  const together = shared.find((set) => set.stages.includes(first.name));
  const { maxProvisioningRatio } = together ?? first;
  return {
    pools,
    deviceClass: first.device,
    virtual: first.virtual,
    replicas: first.replicas,
    most: devicesOf(itemAt(pools, 0)),
    workS: own.reduce((sum, { scaleFactor, throughputRps }) => sum + scaleFactor / throughputRps, 0),
    visits: own.reduce((sum, { scaleFactor }) => sum + scaleFactor, 0),
    batch: own.reduce((most, { batch }) => Math.max(most, batch), 1),
    // A device has no more time than all, whatever a plan was asked to serve: beyond 1, ρ would ask for too few devices.
    ...(maxProvisioningRatio === undefined ? {} : { provisioning: Math.min(1, maxProvisioningRatio) }),
  };
}
