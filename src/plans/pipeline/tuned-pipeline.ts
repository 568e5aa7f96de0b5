import { type Fault, fault, option, type PipelinePlan, type PlanTuner } from '../../artifacts/index.js';
import type { ChosenScheduler } from '../../serving/index.js';
import {
  needsLoad,
  TUNERS,
  type TunedPlan,
  type TunedSet,
  type TunerName,
  tunerSettings,
} from '../../serving/index.js';
import type { ServedPlan } from '../served-plan.js';
import { heldTogether, withSpares } from './spares.js';
import { pipelineTopologyOf } from './topology.js';

const NS_PER_MS = 1e6;

/** TunerOptions holds the option `--tuner` as a person wrote it. */
export interface TunerOptions {
  readonly tuner?: string | undefined;
}

/** TunerChoice says who is to tune a plan, and on what. */
interface TunerChoice extends TunerOptions {
  /**
   * Whether only the standby devices of the plan may be activated, as on a server, which has no others. By default that is
   * so where the plan has a tuner, for which its devices were chosen.
   */
  readonly onlyStandby?: boolean;
}

/** Tuned is a plan with its tuner and the devices that this may activate. */
export interface Tuned {
  readonly plan: ServedPlan;
  readonly scheduler: ChosenScheduler;
  readonly faults: readonly Fault[];
}

/**
 * chosenTuner finds the tuner of a plan: the one of the options, or else the plan's own. The settings of the plan count
 * where it names the same. The plan comes back with the standby devices that the tuner may activate: unless it is to do
 * with those of the plan, all that `withSpares` adds.
 */
export function chosenTuner(
  plan: ServedPlan,
  scheduler: ChosenScheduler,
  { tuner: asked, ...choice }: TunerChoice,
): Tuned {
  const own: PlanTuner = plan.serving?.tuner ?? { kind: 'none' };
  const { onlyStandby = own.kind !== 'none' } = choice;
  const kind = asked ?? own.kind;
  const at = asked === undefined ? '/serving/tuner' : option('tuner');
  const none = { plan, scheduler, faults: [] };
  if (!isTuner(kind))
    return { ...none, faults: [fault(`is ${kind}; valid values are ${TUNERS.join(', ')}`, at)] };
  if (kind === 'none') return none;
  if (plan.kind !== 'pipeline-plan')
    return {
      ...none,
      faults: [fault('changes the replicas of pipelines, and this plan is no pipeline', at)],
    };
  const settings = tunerSettings(kind === own.kind ? own : { kind });
  const faults = [...loadFaults(plan, kind), ...rateFaults(plan, kind), ...schedulerFaults(scheduler)].map(
    (text) => fault(text, at),
  );
  if (settings === undefined || faults.length > 0) return { ...none, faults };
  const spared = onlyStandby ? plan : withSpares(plan);
  return { plan: spared, scheduler: { ...scheduler, tuner: tunedPlanOf(spared, settings) }, faults: [] };
}

function isTuner(kind: string): kind is TunerName {
  return (TUNERS as readonly string[]).includes(kind);
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
  const own = pools.map((pool) => stages[pool] as PipelinePlan['stages'][number]);
  const [first] = own as [PipelinePlan['stages'][number]];
  const together = shared.find((set) => set.stages.includes(first.name));
  const { maxProvisioningRatio } = together ?? first;
  return {
    pools,
    ...{ deviceClass: first.device, virtual: first.virtual, replicas: first.replicas },
    most: devicesOf(pools[0] as number),
    workS: own.reduce((sum, { scaleFactor, throughputRps }) => sum + scaleFactor / throughputRps, 0),
    visits: own.reduce((sum, { scaleFactor }) => sum + scaleFactor, 0),
    batch: own.reduce((most, { batch }) => Math.max(most, batch), 1),
    // A device has no more time than all, whatever a plan was asked to serve: beyond 1, ρ would ask for too few devices.
    ...(maxProvisioningRatio === undefined ? {} : { provisioning: Math.min(1, maxProvisioningRatio) }),
  };
}
