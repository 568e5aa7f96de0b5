import type { ArtifactTypes, GearPlan, PipelinePlan, PooledPlan, WorkflowPlan } from '../formats/index.js';

/** StagePlan is a plan of a kind whose requests go from stage to stage, by routes that the plan has. */
export type StagePlan = PooledPlan | PipelinePlan | GearPlan;

/** ServedPlan is a plan of any kind that a scheduler can serve. */
export type ServedPlan = StagePlan | WorkflowPlan;

/** PlanKind is the kind of a plan's file. */
export type PlanKind = ServedPlan['kind'];

/** StagePlanKind is the kind of the file of a plan of stages. */
export type StagePlanKind = StagePlan['kind'];

/** PlanFile is a plan of one kind, as its file has it. */
export type PlanFile<K extends PlanKind> = ArtifactTypes[K];
