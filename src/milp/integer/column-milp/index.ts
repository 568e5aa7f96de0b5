/**
 * This folder has HiGHS choose among columns, where tables do not apply: `column-milp.ts` solves for the objective, and
 * `serving-more.ts` for a plan that serves more in sum at the same objective.
 */
export { milpPlan } from './column-milp.js';
export { servingMore } from './serving-more.js';
