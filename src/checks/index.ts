/**
 * This room checks plans of all kinds again: what a pooled plan answers, where a plan contradicts itself, and whether the
 * devices of pipelines and cascades are as many as it says; and where reports of loads, of simulated runs and of comparisons
 * contradict themselves.
 *
 * It takes plans as their files have them, with specs and profiles as values, and gives faults. It shares nothing with
 * what makes plans: an arrow rule lets it see `formats` and `collections` only, so that a bug would have to be made
 * twice to pass. It searches nothing and simulates nothing. Start reading at `pooled/check.ts`.
 */
export {
  gearPlanFaults,
  gearPromiseFaults,
  gearRecordFaults,
  type RecordsOfPlan,
} from './gears/index.js';
export { loadReportFaults } from './load/index.js';
export { pipelinePlanFaults } from './pipeline/index.js';
export {
  checkedOutcome,
  checkPlacement,
  checkPlan,
  planFaults,
  pooledProfileFaults,
  promiseFaults,
  sharingFaults,
  unitsOf,
} from './pooled/index.js';
export { countedPlan, recountFaults } from './recount/index.js';
export { reportFaults } from './report-faults.js';
export { stageProfileFaults } from './stages/index.js';
export {
  type BoundedLoad,
  type CheckedWorkflows,
  workflowBoundFaults,
  workflowPlanFaults,
  workflowProfileFaults,
} from './workflow/index.js';
