/**
 * From columns and whole GPUs to the body of a plan, its placement on servers, and the difference of two plans.
 *
 * Start with `plan.ts`; `plan-model.ts` says what an integer plan must satisfy.
 */
export { type Change, diffPlans, type PipelineChange, type PlanDiff } from './diff.js';
export { type PlacementRules, type PoolToPlace, placeVirtualGpus } from './placement.js';
export { assemblePlan, compareColumns, fitsServers } from './plan.js';
export { planModel, type UsedColumn, usedColumns, usedRps } from './plan-model.js';
export type { PlanGoal } from './plan-units.js';
export { settledShares } from './settled-shares.js';
export { inSpecUnits } from './spec-units.js';
