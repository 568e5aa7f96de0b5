/**
 * This folder makes integer plans from columns, by dynamic programming over amounts of GPUs and by a MILP over the best
 * columns, and proves them optimal.
 *
 * `search.ts` decides in which order the searches run and when they stop; `grid-search.ts` is the one that closes most
 * instances.
 */

export { consistent, gapOf, isMaximised, PROVEN, SOLVER_TOLERANCE } from './candidates.js';
export { searchPlan } from './search.js';
export { type IntegerSearch, isOver, limitOf, type SearchResult } from './search-types.js';
