import type { PipelineLoad, PipelineSpec } from '../../formats/index.js';
import type { OpenPlanning, PlanningTools } from '../../inferline/index.js';
import type { Trace } from '../../workload/index.js';
import type { PlannerThread } from '../side-by-side.js';
import { pipelineSamples } from './pipeline-sample.js';
import { servedSample } from './served-sample.js';

/** The thread that plans pipelines. */
export const PIPELINE_THREAD: PlannerThread = {
  worker: '#dist/src/specs/pipeline/pipeline-worker.js',
  what: 'planner',
};

/** PlanningJob is a spec whose stages are to be chosen, with the limits of the search and the trace that the spec names. */
export interface PlanningJob extends OpenPlanning {
  readonly trace?: Trace | undefined;
}

/** planningTools are what the planner is handed for a spec: its sample, and the simulator. */
export function planningTools({
  spec,
  trace,
}: {
  readonly spec: PipelineSpec;
  readonly trace?: Trace | undefined;
}): PlanningTools {
  return {
    drawn: () => pipelineSamples(spec, spec.load as PipelineLoad, trace),
    simulated: servedSample,
  };
}
