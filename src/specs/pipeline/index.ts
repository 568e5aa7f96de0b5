/**
 * This folder answers specs of pipelines: it loads them, plans them on threads, alone or several for one cluster, and compares
 * cases.
 */
export { comparePipeline } from './compare.js';
export { figureFaults } from './figure-faults.js';
export {
  type LoadedPipeline,
  loadPipeline,
  type PipelineSolved,
  type PipelineTools,
  pipelineServing,
  pipelineTools,
  replanned,
  solvePipeline,
} from './pipeline.js';
export type { PlanningJob } from './planning-job.js';
export { refuseForSeveral, solveTogether, type TogetherOptions, type TogetherSolved } from './together.js';
