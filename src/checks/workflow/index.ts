/**
 * This folder finds where a workflow plan contradicts itself: in what it names, in what its devices hold, in its counts, and in the
 * figures of its sample; where it contradicts its profiles; and bounds that are not those of its sample.
 */
export { type BoundedLoad, workflowBoundFaults } from './bound-faults.js';
export type { CheckedWorkflows } from './checked-workflows.js';
export { workflowPlanFaults } from './plan-faults.js';
export { workflowProfileFaults } from './profile-faults.js';
