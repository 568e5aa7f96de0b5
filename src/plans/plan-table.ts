import { itemAt } from '../collections/index.js';
import { aliasedProfiles, aliasFaults, type Fault, type Loaded } from '../formats/index.js';
import type { StageTopology, Topology } from '../serving/index.js';
import { GEAR_PLAN } from './gears/index.js';
import { PIPELINE_PLAN } from './pipeline/index.js';
import type { Application, PlanOf, StagePlanOf, TimedApplication } from './plan-of.js';
import { POOLED_PLAN } from './pooled/index.js';
import type { WeighedApplication } from './priorities.js';
import type { PlanFile, PlanKind, ServedPlan, StagePlan, StagePlanKind } from './served-plan.js';
import type { TopologyOptions } from './topology-options.js';
import { WORKFLOW_PLAN } from './workflow/index.js';

/** STAGE_PLANS says of each kind of plan of stages what it is. A kind that lacks an entry does not compile. */
const STAGE_PLANS: { readonly [K in StagePlanKind]: StagePlanOf<K> } = {
  'pooled-plan': POOLED_PLAN,
  'pipeline-plan': PIPELINE_PLAN,
  'gear-plan': GEAR_PLAN,
};

/** PLANS says of each kind of plan what it is. */
export const PLANS: typeof STAGE_PLANS & {
  readonly [K in Exclude<PlanKind, StagePlanKind>]: PlanOf<K>;
} = { ...STAGE_PLANS, 'workflow-plan': WORKFLOW_PLAN };

/** STAGE_PLAN_KINDS lists the kinds of plans of stages. */
export const STAGE_PLAN_KINDS = Object.keys(STAGE_PLANS) as readonly StagePlanKind[];

/** isOfStages tells a plan of stages from others. */
export function isOfStages(plan: ServedPlan): plan is StagePlan {
  return (STAGE_PLAN_KINDS as readonly PlanKind[]).includes(plan.kind);
}

/** PLAN_KINDS lists the kinds of plans. */
export const PLAN_KINDS = Object.keys(PLANS) as readonly PlanKind[];

/**
 * planOf gives the entry of a plan's kind. Of a plan of any kind it takes plans of any kind, and is to be asked about that
 * one only: the cast here is the one place where the compiler cannot see that a plan and its entry are of one kind.
 */
export function planOf<K extends StagePlanKind>(plan: { readonly kind: K } & PlanFile<K>): StagePlanOf<K>;
export function planOf<K extends PlanKind>(plan: { readonly kind: K } & PlanFile<K>): PlanOf<K>;
export function planOf<K extends PlanKind>({ kind }: { readonly kind: K } & PlanFile<K>): PlanOf<K> {
  return PLANS[kind] as unknown as PlanOf<K>;
}

/** applicationsOf lists what clients of a plan call: the models of a pooled plan, a pipeline or cascade as a whole, workflows. */
export function applicationsOf(plan: StagePlan): readonly TimedApplication[];
export function applicationsOf(plan: ServedPlan): readonly Application[];
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
    ...itemAt(files, i),
    value: profile,
  }));
  const own = files.map(({ value, path }) => ({ profile: value, path }));
  return [...aliasFaults(plan.cluster, own), ...planOf(plan).profileFaults(plan, aliased)];
}

/**
 * planTopologyOf makes the topology of a plan of any kind.
 * @throws what the entry of its kind throws
 */
export function planTopologyOf(plan: StagePlan, options?: TopologyOptions): StageTopology;
export function planTopologyOf(plan: ServedPlan, options?: TopologyOptions): Topology;
export function planTopologyOf(plan: ServedPlan, options: TopologyOptions = {}): Topology {
  return planOf(plan).topology(plan, options);
}
