/**
 * This room is to plan pipelines as InferLine does. Today it has the Estimator: what a configuration of a pipeline
 * (device class, batch and replicas of every stage) makes of a sample of its load.
 *
 * It takes a pipeline and a sample as values, and gives the latency of every request. It reads no files, and runs no
 * general simulation. Start reading at `problem.ts`, then `estimator.ts`.
 */
export { estimatorOf } from './estimator.js';
export type { PlanningProblem, Sample } from './problem.js';
