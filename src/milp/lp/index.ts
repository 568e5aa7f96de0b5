/**
 * This folder holds linear models as values, the adapter to HiGHS, and the master LP over columns.
 *
 * `linear-model.ts` holds named constraints, `highs.ts` turns every solver status into one union, and `master.ts`
 * states the LP whose duals price columns. Only this folder imports `highs`.
 */
export { lpBounds } from './bounds.js';
export { type HighsEngine, loadHighs, type SolveOutcome, type SolverOptions } from './highs.js';
export { LinearModel, type Term } from './linear-model.js';
export { boundAt, columnKey, gpusByClass, type MasterResult, solveMaster } from './master.js';
export type { MasterGoal } from './master-rows.js';
