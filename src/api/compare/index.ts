/**
 * `compareSpec` plans one spec for several clusters, budgets, SLOs or margins, side by side.
 *
 * It takes a spec's path and options, and gives one row per case. The solvers of `solve` do the solving. Start reading
 * at `compare.ts`. `mixes.ts` and `sweeps.ts` list the cases, `rows.ts` makes the rows, and `file.ts` writes them.
 */
export { type CompareOptions, type Comparison, compareSpec } from './compare.js';
