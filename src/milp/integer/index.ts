/**
 * This folder makes integer plans from columns, by dynamic programming over amounts of GPUs and by a MILP over the best
 * columns, and proves them optimal.
 *
 * `search.ts` decides in which order the searches run and when they stop; the one of `grid-search` closes most instances.
 * The folders are the ways to find a plan and what they stand on; `candidates.ts` and `losses.ts` compare what they find.
 */

export { consistent, gapOf, isMaximised, PROVEN, SOLVER_TOLERANCE } from './candidates.js';
export { searchPlan } from './search.js';
export { type IntegerSearch, isOver, limitOf, type SearchResult } from './search-types.js';
