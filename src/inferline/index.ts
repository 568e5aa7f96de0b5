/**
 * This room plans pipelines as InferLine does: device class, batch and replicas of every stage, at least cost.
 *
 * It takes a resolved pipeline, and is handed what draws a sample of its load and what simulates a plan over links. It gives
 * a plan with what the Estimator says of it, or the reasons why there is none. It reads no files, draws nothing and runs no
 * general simulation. Start reading at `problem.ts`, then `planner.ts`; `plan-open.ts` makes a plan of what was found.
 */
export { withEnvelopeOf } from './envelope.js';
export { estimatorOf } from './estimator.js';
export type { NamedAction, NamedOption, PipelineExplanation, StageExplanation } from './explain.js';
export type { InfeasibleReason } from './infeasible.js';
export type { NearestLinked } from './linked.js';
export { planAsChosen, takenOver } from './plan-again.js';
export { costProof, SAMPLE_SEED } from './plan-body.js';
export { planOpen } from './plan-open.js';
export { type PlanningOutcome, planPipeline } from './planner.js';
export { type FixedStage, planningProblemOf } from './planning.js';
export type {
  Misses,
  OpenPlanning,
  PipelineLimits,
  PlannedOpen,
  PlanningTools,
  ServedBySimulator,
} from './planning-job.js';
export type {
  Configuration,
  Estimate,
  PipelineEstimator,
  PlanningProblem,
  Sample,
  StageCandidate,
  StageChoices,
  TailObjective,
} from './problem.js';
export { isLinked } from './senders.js';
export { type PartAnswer, planTogether, type TogetherOutcome } from './together.js';
export type { PlannerInput } from './trials.js';
