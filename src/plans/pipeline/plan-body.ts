import type { PipelinePlan } from '../../formats/index.js';

/** PipelinePlanBody is a plan without the head of its file. It has its scheduler where planning has confirmed it. */
export type PipelinePlanBody = Omit<PipelinePlan, '$schema' | 'tool' | 'inputs' | 'serving'> &
  Partial<Pick<PipelinePlan, 'serving'>>;
