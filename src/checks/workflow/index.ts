/**
 * This folder finds where a workflow plan contradicts itself: in what it names, in what its devices hold, in its counts, and in the
 * figures of its sample; and where it contradicts its profiles.
 */
export type { CheckedWorkflows } from './checked-workflows.js';
export { workflowPlanFaults } from './plan-faults.js';
export { workflowProfileFaults } from './profile-faults.js';
