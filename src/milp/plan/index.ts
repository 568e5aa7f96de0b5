/**
 * This folder turns columns and whole GPUs into the body of a plan, and places it on servers.
 *
 * Start with `plan.ts`; `plan-model.ts` states the conditions of an integer plan.
 */

export { type PlacementRules, type PoolToPlace, placeVirtualGpus } from './placement.js';
export { assemblePlan, compareColumns, fitsServers } from './plan.js';
export { planModel, type UsedColumn, usedColumns, usedRps } from './plan-model.js';
export type { PlanGoal } from './plan-units.js';
export { regrouped, type VirtualGpuCounts } from './regrouped.js';
export { settledShares } from './settled-shares.js';
export { inSpecUnits } from './spec-units.js';
