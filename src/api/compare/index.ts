/**
 * `compareSpec` plans one spec for several clusters, budgets, SLOs or margins, side by side.
 *
 * It takes a spec's path and options, and gives one row per case. It does not solve: the solvers of
 * `solve` do. Start reading at `compare.ts`. `mixes.ts` and `sweeps.ts` say which cases there are, `rows.ts`
 * what a row says, and `file.ts` how rows are written.
 */
export { type CompareOptions, type Comparison, compareSpec } from './compare.js';
export type { ComparisonDocument } from './file.js';
export type { CompareRow } from './rows.js';
