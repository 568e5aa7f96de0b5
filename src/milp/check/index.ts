/**
 * The independent checker: it re-computes a plan's figures from its problem and shares nothing with the planner.
 *
 * An arrow rule keeps it so: it may look at `problem.ts` and at `artifacts`, and at nothing else of this room.
 */
export { checkedOutcome, checkPlan } from './check.js';
export { unitsOf } from './check-units.js';
