/**
 * `compareSpec` plans one spec, pooled or of a pipeline, for several clusters, budgets, SLOs or margins, side by side.
 *
 * It takes a spec's path and options, and gives one row per case. The solvers of `solve` do the solving. Start reading
 * at `compare.ts`, and for pipelines at `pipelines.ts`. `mixes.ts` and `sweeps.ts` list the cases, `rows.ts` makes the rows,
 * and `file.ts` writes them.
 */
export { compareSpec } from './compare.js';
export type { CompareOptions, Comparison } from './options.js';
