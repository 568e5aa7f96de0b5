/**
 * `solveSpec` solves one spec on its own thread, and explains the result when asked.
 *
 * It takes a spec's path and options, and gives a plan or the reasons why there is none. The search itself is
 * in `milp`, that of pipelines in `inferline`, that of cascades in `gearplan`. Start reading at `solve.ts`; `together.ts` plans several pipelines for one
 * cluster. `pooled.ts` loads a spec with its cluster and profiles.
 */
export {
  type CascadeSolved,
  evaluatedGearFaults,
  type LoadedCascade,
  loadCascade,
  replannedGears,
} from './cascade.js';
export type { GearJob, PlannedGears } from './cascade-worker.js';
export { gearServing, repeatedGearPromiseFaults } from './gear-simulation.js';
export { type HeldOutcome, holdPlan } from './hold.js';
export { holdTarget, ownShareNotes } from './hold-target.js';
export { type NotHeld, notHeldReason } from './not-held.js';
export {
  type LoadedPipeline,
  loadPipeline,
  type PipelineSolved,
  type PipelineTools,
  pipelineServing,
  pipelineTools,
  replanned,
} from './pipeline.js';
export type { PlannedOpen, PlanningJob } from './planning-job.js';
export { type LoadedPooled, loadPooled, loadProblem, pooledFigures, servingOf } from './pooled.js';
export { refuseMarked } from './refuse-marked.js';
export { repeatedPromiseFaults } from './repeated-promise.js';
export {
  missedWhatWasAsked,
  type Solved,
  type SolveLimits,
  type SolveOptions,
  searchLimits,
  solveSpec,
} from './solve.js';
export type { SolveJob } from './solve-worker.js';
export { SolverPool } from './solver-pool.js';
export type { TimingRound } from './time-partitions.js';
export { refuseForSeveral, solveTogether, type TogetherOptions, type TogetherSolved } from './together.js';
