import type { ArtifactTypes, GearPlan, PipelinePlan, PooledPlan } from '../artifacts/index.js';

/** ServedPlan is a plan of any kind that a scheduler can serve. */
export type ServedPlan = PooledPlan | PipelinePlan | GearPlan;

/** PlanKind is the kind of a plan's file. */
export type PlanKind = ServedPlan['kind'];

/** PlanFile is a plan of one kind, as its file has it. */
export type PlanFile<K extends PlanKind> = ArtifactTypes[K];
