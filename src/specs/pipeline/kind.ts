import type { PipelinePlan } from '../../formats/index.js';
import type { PipelineExplanation, PlannedOpen } from '../../inferline/index.js';
import type { KindTypes } from '../spec-of.js';
import type { PipelineCase } from './cases.js';
import type { LoadedPipeline } from './pipeline.js';
import type { PlanningJob } from './planning-job.js';

/** PipelineTypes are the types of specs of pipelines. */
export interface PipelineTypes extends KindTypes {
  readonly spec: 'pipeline';
  readonly plan: PipelinePlan;
  readonly outcome: 'pipeline-plan';
  readonly explanation: PipelineExplanation;
  readonly loaded: LoadedPipeline;
  readonly compared: LoadedPipeline;
  readonly variant: PipelineCase;
  readonly job: PlanningJob;
  readonly answer: PlannedOpen;
}
