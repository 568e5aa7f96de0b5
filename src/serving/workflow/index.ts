/**
 * The folder `workflow` schedules dynamic workflows (DyOrc): requests are programs that call components as they go.
 *
 * In go the calls of programs, and what devices have done and loaded; out come batches, loads, evictions and
 * fetches as decisions. It runs no program: the driver does. Start with `language.ts` for the events and
 * decisions, then read `dynamic-core.ts`, and `dynamic-program.ts` for how devices are found. DyOrc's
 * baselines are in `reactive-core.ts`, with a static placement or replicas (`allocation.ts`).
 */

export { DynamicCore, type DynamicOptions } from './dynamic-core.js';
export {
  backTo,
  END,
  type FrequencyRow,
  Histories,
  type NextCall,
  type SeenCall,
  START,
} from './histories.js';
export type { GuessCounts, SubmittedCall, WorkflowCore } from './language.js';
export { DYORC_POLICY, GREEDY_POLICY, ROUND_ROBIN_POLICY, type WorkflowPolicy } from './policy.js';
export type { Foresight } from './prediction.js';
export { RAY_LIKE_POLICY, type RayLikePolicy } from './ray-like-allocation.js';
export {
  type ComponentPool,
  type DeviceMemory,
  type HostMemory,
  passTimes,
  type WorkflowTable,
} from './table.js';
export {
  WORKFLOW_POLICIES,
  WORKFLOW_SCHEDULERS,
  type WorkflowParts,
  type WorkflowScheduler,
  workflowCore,
} from './workflow-schedulers.js';
