/**
 * This room plans dynamic workflows (DyOrc): how large the batches of components are, what devices hold at the start or
 * for ever, and how many devices there are.
 *
 * In go a spec with its cluster, its profiles and its recorded runs as values, and what draws and simulates the sample,
 * as functions. Out come a plan with bounds that no plan passes, or coded reasons why there is none, or every fault of
 * the spec. It reads no files, and schedules nothing: `serving` does. Start reading at `resolve.ts`, then `planner.ts`
 * and `bounds.ts`.
 */
export { type AsPlaced, planAsPlaced } from './as-placed.js';
export type { RequestsToBound } from './bounds.js';
export { leastMeanMs } from './least-mean.js';
export type { HeldTimes } from './longest-held.js';
export { planWorkflows } from './planner.js';
export type {
  SampleFigures,
  SimulatedSample,
  ToSimulate,
  WorkflowAnswer,
  WorkflowPlanBody,
  WorkflowQuestion,
} from './problem.js';
export {
  type ResolvedWorkflows,
  type RunsOfFile,
  resolveWorkflows,
  type WorkflowFiles,
} from './resolve.js';
export { workflowSpecFaults } from './spec-faults.js';
export { WORKFLOW_SEED } from './trials.js';
