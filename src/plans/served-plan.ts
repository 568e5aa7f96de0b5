import type { GearPlan, PipelinePlan, PooledPlan } from '../artifacts/index.js';

/** ServedPlan is a plan of any kind that a scheduler can serve. */
export type ServedPlan = PooledPlan | PipelinePlan | GearPlan;

/** PlanKind is the kind of a plan's file. */
export type PlanKind = ServedPlan['kind'];
