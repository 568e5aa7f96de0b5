import { emittedHead, pathFrom, relativePath } from '../../artifacts/index.js';
import { countedPlan } from '../../checks/index.js';
import type { PipelinePlan } from '../../formats/index.js';
import { pipelineServing } from '../../pipeline/index.js';
import type { PipelinePlanBody } from '../../plans/index.js';
import { type LoadedPipeline, pipelineNotes } from './pipeline.js';
import { withEnvelope } from './pipeline-sample.js';

/** The version of plans whose stages have replicas of several classes. */
const WITH_OTHERS = '1.2';
/** The version of plans with applications. Readers of earlier ones take its sloMs for that of all requests. */
const WITH_APPLICATIONS = '1.3';
/** The version of plans that were made for a window of a trace. */
const WITH_WINDOW = '1.4';

/**
 * pipelinePlan makes a file of a plan: with the head of a file, its traffic envelope, its trace relative to that file,
 * and notes on its cluster.
 * @throws Error where its devices, counted again, are not those that it says or more than there are: a bug
 */
export async function pipelinePlan(
  planned: PipelinePlanBody,
  loaded: LoadedPipeline,
  { holder, notes: ofCluster }: { readonly holder: string | undefined; readonly notes: readonly string[] },
): Promise<PipelinePlan> {
  const { spec, inputs, trace } = loaded;
  const {
    kind,
    version,
    name,
    method,
    notes: own = [],
    ...figures
  } = await withEnvelope(planned, { spec: spec.value, trace });
  // The notes of a given spec are in its plan already.
  const notes = [...new Set([...own, ...pipelineNotes(loaded), ...ofCluster])];
  const load =
    figures.load !== undefined && 'trace' in figures.load
      ? { ...figures.load, trace: relativePath(pathFrom(spec.path, figures.load.trace), holder) }
      : undefined;
  return countedPlan({
    ...emittedHead('pipeline-plan', inputs(holder)),
    ...(figures.stages.some(({ others }) => others !== undefined) ? { version: WITH_OTHERS } : {}),
    ...(figures.applications === undefined ? {} : { version: WITH_APPLICATIONS }),
    ...(load !== undefined && ('from' in load || 'to' in load) ? { version: WITH_WINDOW } : {}),
    name,
    method,
    ...(notes.length === 0 ? {} : { notes }),
    serving: pipelineServing(spec.value),
    ...figures,
    ...(load === undefined ? {} : { load }),
  });
}
