import { withTemporaryFolder } from '../artifacts/index.js';
import { itemAt } from '../collections/index.js';
import { writeStages } from '../deploy/index.js';
import { checkOnnxRuntime } from '../execution/index.js';
import { type CountedSamples, firstFaults, InputError, type Loaded, ToldFaults } from '../formats/index.js';
import { CONFIDENCE } from '../metrics/index.js';
import { type RunPipeline, resolveRun, scaleFactors } from '../pipeline/index.js';
import { edgeOf, readStageGraph, servedPipelineOf } from '../plans/index.js';
import {
  type CountedStage,
  countVerdicts,
  type RowVerdicts,
  readSamples,
  runSamples,
  type SampleFile,
  unplannable,
  verdictLines,
} from '../samples/index.js';
import { type DeployableModel, modelOfProfile } from './deploy.js';
import { withHostExecutor } from './host-executor.js';
import type { ProgressStep } from './profile.js';
import type { EdgeShare } from './spec-text.js';

/** CountedPipeline is what samples say of a pipeline. */
export interface CountedPipeline {
  readonly counts: CountedSamples;
  readonly shares: readonly EdgeShare[];
  /** The verdicts on the samples as CSV. */
  readonly records: string;
  readonly files: readonly SampleFile[];
  readonly warnings: readonly string[];
}

/** CountOptions names the samples. */
export interface CountOptions {
  readonly samples?: readonly string[] | undefined;
  readonly signal?: AbortSignal;
  readonly onProgress?: (step: ProgressStep) => void;
}

/**
 * countedSamples runs sample requests through the models of a spec, and counts what they choose.
 * @param profiles one for each stage, in its order
 * @throws InputError with every fault of the spec or the samples, also where these say too little of an edge
 */
export async function countedSamples(
  spec: Loaded<'pipeline'>,
  profiles: readonly Loaded<'profile'>[],
  options: CountOptions,
): Promise<CountedPipeline> {
  const task = `count the samples of ${spec.path}`;
  const read = profiles.map(({ value, path }) => ({ profile: value, path }));
  const resolved = resolveRun(spec.value, read);
  if (resolved.faults !== undefined) throw new InputError(task, firstFaults(resolved.faults));
  const { pipeline } = resolved;
  const told = new ToldFaults();
  const { rows, files } = await readSamples(
    options.samples ?? [],
    { inputs: servedPipelineOf(pipeline).inputs },
    told,
  );
  if (told.count > 0) throw told.error(task);
  const verdicts = await verdictsOn({ rows, pipeline, profiles }, options);
  const stages = countVerdicts(verdicts, pipeline);
  const faults = unplannable(stages);
  if (faults.length > 0) throw new InputError(task, firstFaults(faults));
  const counts = await figuresOf(stages, { rows: rows.length, spec, pipeline });
  return {
    counts,
    shares: stages.flatMap(({ edges }, stage) =>
      edges.map(({ at, probability }) => ({ stage, at, probability })),
    ),
    records: verdictLines(verdicts, pipeline),
    files,
    warnings: dependenceWarnings(counts),
  };
}

interface SampleRun {
  readonly rows: Parameters<typeof runSamples>[0];
  readonly pipeline: RunPipeline;
  readonly profiles: readonly Loaded<'profile'>[];
}

/** verdictsOn runs the models as a bundle would hold them. */
async function verdictsOn(
  { rows, pipeline, profiles }: SampleRun,
  { signal, onProgress }: CountOptions,
): Promise<RowVerdicts[]> {
  checkOnnxRuntime();
  onProgress?.({ doing: 'reading the models' });
  const distinct = [...new Set(profiles)];
  const models = new Map<Loaded<'profile'>, DeployableModel>();
  for (const profile of distinct)
    models.set(profile, await modelOfProfile(profile, { ...(signal && { signal }) }));
  return withTemporaryFolder('samples', async (folder) => {
    const deployed = profiles.map((profile) => (models.get(profile) as DeployableModel).deployed);
    const { stages } = await writeStages(folder, { stages: pipeline.stages, models: deployed, signal });
    return withHostExecutor(signal, (executor) =>
      runSamples(rows, pipeline, {
        executor,
        files: stages.map(({ file }) => `${folder}/${file}`),
        signal,
        onRow: (done) =>
          onProgress?.({ doing: `sample ${done} of ${rows.length}`, fraction: done / rows.length }),
      }),
    );
  });
}

async function figuresOf(
  stages: readonly CountedStage[],
  {
    rows,
    spec,
    pipeline,
  }: { readonly rows: number; readonly spec: Loaded<'pipeline'>; readonly pipeline: RunPipeline },
): Promise<CountedSamples> {
  const counted = pipeline.stages.map((stage, i) => ({
    ...stage,
    next: stage.next.map((edge, k) => {
      const found = stages[i]?.edges.find(({ at }) => at === k);
      return found === undefined ? edge : { ...edge, probability: found.probability };
    }),
  }));
  const { graph } = readStageGraph({ stages: counted, exclusive: pipeline.exclusive });
  const { factors } = scaleFactors(graph);
  return {
    rows,
    confidence: CONFIDENCE,
    stages: stages.map(({ name, visits, scaleFactor, edges }, i) => ({
      name,
      visits,
      scaleFactor,
      independentScaleFactor: itemAt(factors, i),
      edges: edges.map(({ to, at, taken, of, share, probability }) => {
        const before = edgeOf(spec.value.stages[i]?.next?.[at] ?? to).probability;
        return {
          to,
          taken,
          of,
          ...(share as NonNullable<typeof share>),
          probability,
          ...(before === undefined ? {} : { probabilityBefore: before }),
        };
      }),
    })),
  };
}

/** dependenceWarnings tells stages that samples come to more or less often than probabilities can say. */
function dependenceWarnings({ stages }: CountedSamples): string[] {
  return stages.flatMap(({ name, scaleFactor: { share, low, high }, independentScaleFactor }) =>
    independentScaleFactor >= low && independentScaleFactor <= high
      ? []
      : [
          `${name}: ${percent(share)} of the samples came to it, and a plan will count with ${percent(independentScaleFactor)}, as if verdicts did not depend on one another`,
        ],
  );
}

function percent(share: number): string {
  return `${Number((100 * share).toPrecision(3))} %`;
}
