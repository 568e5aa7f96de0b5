/**
 * `compareSpec`: several clusters, budgets or loads of one spec side by side.
 *
 * Start with `compare.ts`; `mixes.ts` and `sweeps.ts` say which cases there are, `rows.ts` what a case says, `file.ts` how it is written.
 */
export { type CompareOptions, type CompareProgress, type Comparison, compareSpec } from './compare.js';
export type { ComparisonDocument } from './file.js';
export type { CompareRow } from './rows.js';
