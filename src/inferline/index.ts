/**
 * This room plans pipelines as InferLine does: device class, batch and replicas of every stage, at least cost.
 *
 * It takes a resolved pipeline and a sample of its load as values, and gives a configuration with what the Estimator says
 * of it. It reads no files, and runs no general simulation. Start reading at `problem.ts`, then `planner.ts`.
 */
export { planCoarsely } from './coarse.js';
export { estimatorOf } from './estimator.js';
export { explainPipeline, type NamedOption, type PipelineExplanation } from './explain.js';
export type { InfeasibleReason } from './infeasible.js';
export type { NearestLinked } from './linked.js';
export { type PlanningOutcome, planPipeline, provedCost } from './planner.js';
export { chosenSpec, chosenStages, type FixedStage, planningProblemOf } from './planning.js';
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
