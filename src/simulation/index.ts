/**
 * This room simulates a plan file: it turns a plan, options and traces into a run or a sweep of runs, and
 * those into a report and a timeline.
 *
 * It takes a plan, its profiles and options as a person writes them, and gives runs and documents. The room
 * `simulator` keeps the virtual time, and `serving` makes the decisions. Reports are written to files by
 * `api`, not here. Start reading at `setup.ts`, then `run.ts`.
 */

export { type ComparedSchedulers, comparedSchedulers } from './compared-schedulers.js';
export { simulationReport } from './document.js';
export { executionOf } from './execution.js';
export { familyRecords } from './family-records.js';
export { drawnFates } from './fates.js';
export { type GearLoad, type GearServing, type GearsRun, simulatedGears } from './gear-runs.js';
export { lengthFaults, windowFaults } from './length-faults.js';
export { resolvedWorkload, type SimulatedLoadOptions } from './load.js';
export type { RatedModel } from './models.js';
export { isWorkflowsPlan, planAt, type SimulatedPlan } from './plan-at.js';
export type { SimulatedPriority } from './priority-mix.js';
export { processFaults } from './process-faults.js';
export { simulatedRates } from './rates.js';
export type { SimulationSetup } from './run.js';
export { runsFaults, seededJobs } from './runs.js';
export { type ComparisonOptions, comparedWindowFaults, runComparison } from './scheduler-comparison.js';
export {
  type PreparedSimulation,
  prepareSimulation,
  type SimulationSettings,
} from './setup.js';
export { SimulationPool } from './simulation-pool.js';
export { runSweep, type SweepOptions, sweptLoads } from './sweep.js';
export {
  namedTrace,
  readTraceFile,
  type TraceFile,
  type TraceFileOptions,
  type TraceRead,
} from './trace-file.js';
export type { SimulationProgress } from './watched-arrivals.js';
export {
  type PreparedWorkflows,
  prepareWorkflows,
  type WorkflowSettings,
} from './workflow/prepared-workflows.js';
export { RecordedRuns } from './workflow/recorded-runs.js';
export {
  type CountedWorkflows,
  simulatedWorkflows,
  type WorkflowLoad,
  type WorkflowRun,
} from './workflow/simulated-workflows.js';
export { runWorkflowComparison } from './workflow/workflow-comparison.js';
export { WorkflowPool } from './workflow/workflow-pool.js';
export { workflowReport } from './workflow/workflow-report.js';
export {
  type ComparedWorkflowSchedulers,
  comparedWorkflowSchedulers,
} from './workflow/workflow-schedulers.js';
export {
  arrivalsOf,
  atLoadFactor,
  begunBefore,
  describedWorkload,
  silenceNs,
  type TraceWorkload,
  traceWorkload,
  type Workload,
} from './workload.js';
