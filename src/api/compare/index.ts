/**
 * `compareSpec` plans one spec, pooled, of a pipeline or of a cascade, for several clusters, budgets, SLOs, margins or
 * accuracies, side by side.
 *
 * It takes a spec's path and options, and gives one row per case. The solvers of `solve` do the solving. Start reading
 * at `compare.ts`, for pipelines at `pipelines.ts` and for cascades at `cascades.ts`. `mixes.ts`, `budget.ts` and `sweeps.ts` list the
 * cases, `easier.ts` shares plans and bounds between them, `rows.ts` makes the rows, and `file.ts` writes them.
 */
export { compareSpec } from './compare.js';
export type { CompareOptions, Comparison } from './options.js';
