import type { PipelinePlan } from '../../artifacts/index.js';

/** PipelinePlanBody is a plan without the head of its file. */
export type PipelinePlanBody = Omit<PipelinePlan, '$schema' | 'tool' | 'inputs' | 'serving'>;
