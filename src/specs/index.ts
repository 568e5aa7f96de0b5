/**
 * This room answers what is asked of a spec, whatever its kind: it loads and resolves it, solves it on threads of its own,
 * confirms a plan against it, and compares cases of it side by side.
 *
 * It takes a spec's path and options, and gives a plan, the reasons why there is none, or one row per case. The searches are
 * in `milp`, `inferline`, `gearplan` and `hold`, and each kind of spec has a folder. It prints nothing. Start reading at
 * `solve.ts`, then `compare.ts` and `confirm-plan.ts`.
 */

export { asProfiled } from './as-profiled.js';
export type { GearJob, PlannedGears } from './cascade/index.js';
export {
  type CascadeSolved,
  evaluatedGearFaults,
  gearServing,
  type LoadedCascade,
  loadCascade,
  repeatedGearPromiseFaults,
  replannedGears,
} from './cascade/index.js';
export { compareSpec } from './compare.js';
export type { CompareOptions, Comparison } from './compare-options.js';
export { confirmBundledPlan, confirmPlan, confirmSimulated } from './confirm-plan.js';
export { bundleNotes } from './core-notes.js';
export type { PlanningJob } from './pipeline/index.js';
export {
  type LoadedPipeline,
  loadPipeline,
  type PipelineSolved,
  type PipelineTools,
  pipelineServing,
  pipelineTools,
  refuseForSeveral,
  replanned,
  solveTogether,
  type TogetherOptions,
  type TogetherSolved,
} from './pipeline/index.js';
export type { SolveJob, TimingRound } from './pooled/index.js';
export {
  type HeldOutcome,
  holdPlan,
  holdTarget,
  type LoadedPooled,
  loadPooled,
  loadProblem,
  type NotHeld,
  notHeldReason,
  ownShareNotes,
  pooledFigures,
  repeatedPromiseFaults,
  SolverPool,
  servingOf,
} from './pooled/index.js';
export { refuseMarked } from './refuse-marked.js';
export {
  type Solved,
  type SolveOptions,
  solveSpec,
} from './solve.js';
export type { SolveLimits } from './solve-limits.js';
