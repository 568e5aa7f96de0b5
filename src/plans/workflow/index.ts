/**
 * This folder says what a workflow plan is: components on devices that hold several, and programs that call them.
 */
export { type CountedWorkflow, frequencyRowsOf, nextCallCountsOf } from './frequencies.js';
export type { PlacedWorkflows } from './placed.js';
export { isWorkflowScheduler, plannedPolicy, workflowPolicyOf, workflowServingFaults } from './serving.js';
export { type Subcluster, subclustersOf } from './subclusters.js';
export { type HeldBy, workflowTableOf } from './table.js';
export { workflowTopologyOf } from './topology.js';
export { WORKFLOW_PLAN } from './workflow-plan.js';
