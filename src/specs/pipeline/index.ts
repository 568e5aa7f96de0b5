/**
 * This folder answers specs of pipelines: it loads them, plans them on threads, alone or several for one cluster, confirms
 * plans and compares cases. `PIPELINE_SPECS` is the door to one pipeline, and `together.ts` plans several.
 */
import { counted } from '../../formats/index.js';
import type { SpecOf } from '../spec-of.js';
import type { PipelineTypes } from './kind.js';
import { loadPipeline, pipelineNotes } from './pipeline.js';

export type { PipelineTypes } from './kind.js';

/** PIPELINE_SPECS is what is asked of specs of pipelines. */
export const PIPELINE_SPECS: SpecOf<PipelineTypes> = {
  load: loadPipeline,
  described: ({ graph }) => `pipeline spec of ${counted(graph.names.length, 'stage')}`,
  notes: pipelineNotes,
  solving: async () => (await import('./solve.js')).solvingPipeline,
  confirming: async () => (await import('./confirm.js')).confirmingPipeline,
  comparing: async () => (await import('./compare.js')).comparingPipeline,
};

/** pipelinesTogether opens the planner of several pipelines. */
export const pipelinesTogether = async () => (await import('./together.js')).planSeveral;
