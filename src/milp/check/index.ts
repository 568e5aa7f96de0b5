/**
 * This folder holds the independent checker: it recomputes a plan's figures from its problem and shares no code with
 * the planner.
 *
 * An arrow rule keeps it so: the folder may import only `problem.ts` and `artifacts`.
 */
export { checkedOutcome, checkPlan } from './check.js';
export { sharingFaults } from './check-placement.js';
export { unitsOf } from './check-units.js';
