/**
 * This folder recomputes a pooled plan's figures from what it answers, and finds where it contradicts itself.
 */

export { checkedOutcome, checkPlan } from './check.js';
export { sharingFaults } from './check-placement.js';
export { unitsOf } from './check-units.js';
export { checkPlacement } from './placement-faults.js';
export { planFaults } from './plan-figures.js';
export { pooledProfileFaults } from './profile-faults.js';
export { promiseFaults } from './promise-faults.js';
