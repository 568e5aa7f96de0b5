/**
 * This folder holds the master LP over columns: how many requests per second each column serves, where fractions of GPUs
 * are allowed.
 *
 * In go classes, tables and a source of columns for each model. Out come columns, the prices of GPUs by which they were
 * found, and a bound on every plan that holds whatever the solver's tolerances are (`boundAt`). `master-rows.ts` states
 * the rows, `master.ts` adds columns until none is cheaper, and `bounds.ts` chooses the goal that an objective asks for.
 */
export { lpBounds } from './bounds.js';
export { boundAt, columnKey, gpusByClass, type MasterResult, solveMaster } from './master.js';
export type { MasterGoal } from './master-rows.js';
