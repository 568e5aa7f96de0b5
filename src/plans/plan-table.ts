import { aliasedProfiles, aliasFaults, type Fault, type Loaded } from '../artifacts/index.js';
import type { StageTopology } from '../serving/index.js';
import { GEAR_PLAN } from './gears/index.js';
import { PIPELINE_PLAN } from './pipeline/index.js';
import type { Application, PlanOf } from './plan-of.js';
import { POOLED_PLAN } from './pooled/index.js';
import type { WeighedApplication } from './priorities.js';
import type { PlanFile, PlanKind, ServedPlan } from './served-plan.js';
import type { TopologyOptions } from './topology-options.js';

/** PLANS says of each kind of plan what it is. A kind that lacks an entry does not compile. */
export const PLANS: { readonly [K in PlanKind]: PlanOf<K> } = {
  'pooled-plan': POOLED_PLAN,
  'pipeline-plan': PIPELINE_PLAN,
  'gear-plan': GEAR_PLAN,
};

/** PLAN_KINDS lists the kinds of plans. */
export const PLAN_KINDS = Object.keys(PLANS) as readonly PlanKind[];

/**
 * planOf gives the entry of a plan's kind. Of a plan of any kind it takes plans of any kind, and is to be asked about that
 * one only: the cast here is the one place where the compiler cannot see that a plan and its entry are of one kind.
 */
export function planOf<K extends PlanKind>({ kind }: { readonly kind: K } & PlanFile<K>): PlanOf<K> {
  return PLANS[kind] as PlanOf<K>;
}

/** applicationsOf lists what clients of a plan call: the models of a pooled plan, a pipeline or a cascade as a whole. */
export function applicationsOf(plan: ServedPlan): readonly Application[] {
  return planOf(plan).applications(plan);
}

/** weighedApplications says how much a drop of a request of each application of a plan weighs. */
export function weighedApplications(plan: ServedPlan): WeighedApplication[] {
  return applicationsOf(plan).map(({ dropWeight }) => ({ weight: dropWeight }));
}

/**
 * planProfileFaults says where a plan contradicts the profiles it was made from, as their files have them and in its order.
 * Where one is missing it says nothing but that an alias of the cluster has figures of its own in another.
 */
export function planProfileFaults(plan: ServedPlan, files: readonly Loaded<'profile'>[]): Fault[] {
  const aliased = aliasedProfiles(files, plan.cluster).map(({ profile }, i) => ({
    ...(files[i] as Loaded<'profile'>),
    value: profile,
  }));
  const own = files.map(({ value, path }) => ({ profile: value, path }));
  return [...aliasFaults(plan.cluster, own), ...planOf(plan).profileFaults(plan, aliased)];
}

/**
 * planTopologyOf makes the topology of a plan of any kind.
 * @throws what the entry of its kind throws
 */
export function planTopologyOf(plan: ServedPlan, options: TopologyOptions = {}): StageTopology {
  return planOf(plan).topology(plan, options);
}
