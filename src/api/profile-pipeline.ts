import { access } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import {
  checkReadable,
  checkWritable,
  decodedText,
  emittedHead,
  everyInput,
  type InputPath,
  inputFile,
  isYamlPath,
  loadArtifact,
  loadSpec,
  type OutputPath,
  outputFiles,
  pathFrom,
  profileInputs,
  refuseReplacing,
  relativePath,
  specBytes,
  specInputs,
  writeWhole,
} from '../artifacts/index.js';
import { itemAt } from '../collections/index.js';
import {
  type Fault,
  fault,
  InputError,
  InterruptedError,
  type Loaded,
  option,
  type PipelineProfile,
  ToldFaults,
} from '../formats/index.js';
import { refusing, usedOrTold } from '../specs/index.js';
import { countedSamples } from './count-samples.js';
import { type ProfileModelOptions, profileModelFile } from './profile.js';
import { changedSpec } from './spec-text.js';

/** ProfilePipelineOptions says what is counted of a pipeline, and how models without a profile are measured. */
export interface ProfilePipelineOptions extends Omit<ProfileModelOptions, 'output'> {
  /** Files of sample requests. */
  readonly samples?: readonly string[] | undefined;
  /** The file that the verdicts on the samples are written to, as `plan simulate --verdicts` reads them. */
  readonly verdicts?: string | undefined;
  /** The file that the spec with its probabilities is written to; without it, none is written. */
  readonly output?: string | undefined;
}

/** ProfiledPipeline is a pipeline that was profiled. */
export interface ProfiledPipeline {
  readonly document: PipelineProfile;
  /** The spec with the counted probabilities; absent without samples. */
  readonly text?: string;
}

/**
 * profilePipeline measures the models of a spec whose profiles are missing, each to where the spec looks for it, and runs
 * sample requests through the models to count scale factors and probabilities. It writes the spec with these where an
 * output is named.
 * @throws InputError with every fault of the spec or the samples, also where these say too little of an edge, or where an
 *   output would replace an input; MissingError where files are only missing
 */
export async function profilePipeline(
  path: string,
  options: ProfilePipelineOptions,
): Promise<ProfiledPipeline> {
  const { samples = [], output, verdicts } = options;
  const loading = loadSpec(path, ['pipeline']);
  const spec = await usedOrTold(path, loading, (one) => withCheckedOptions(one, options));
  const stages = spec.value.stages.map(({ profile }) => pathFrom(path, profile));
  const paths = [...new Set(stages)];
  const outputs = outputFiles({ output, verdicts });
  const measured = await measureMissing(paths, path, { ...options, whatFor: 'to count where requests go' });
  const loaded = await everyInput<Loaded<'profile'>[]>(
    `profile ${path}`,
    paths.map((one) => loadArtifact(one, ['profile'])),
  );
  await refuseReplacing(
    `profile ${path}`,
    outputs,
    loaded.flatMap((one) => profileInputs(one, 'a profile of the spec')),
  );
  const base = {
    name: spec.value.name ?? 'pipeline',
    profiles: paths.map((one) => ({ path: one, measured: measured.includes(one) })),
  };
  const head = [...specInputs(spec, undefined), ...loaded.map((one) => inputFile('profile', one, undefined))];
  if (samples.length === 0)
    return { document: { ...emittedHead('pipeline-profile', head), ...base, warnings: [] } };
  const profiles = stages.map((one) => itemAt(loaded, paths.indexOf(one)));
  const counted = await countedSamples(spec, profiles, options);
  const text = await changedText(spec, { output, shares: counted.shares });
  if (output !== undefined) await writeWhole(output, text);
  if (verdicts !== undefined) await writeWhole(verdicts, counted.records);
  const inputs = [...head, ...counted.files.map((file) => inputFile('samples', file, undefined))];
  const { counts, warnings } = counted;
  return {
    document: {
      ...emittedHead('pipeline-profile', inputs),
      ...base,
      samples: counts,
      warnings: [...warnings],
    },
    text,
  };
}

/**
 * withCheckedOptions gives a spec once its samples are there and its outputs can be written. @throws InputError with
 * every fault
 */
async function withCheckedOptions(
  spec: Loaded<'pipeline'>,
  options: ProfilePipelineOptions,
): Promise<Loaded<'pipeline'>> {
  const { samples = [], output, verdicts } = options;
  const { path } = spec;
  const task = `profile ${path}`;
  const outputs = outputFiles({ output, verdicts });
  const paths = spec.value.stages.map(({ profile }) => pathFrom(path, profile));
  await everyInput(task, [
    checkOutputs(task, outputs, namedInputs(spec, [...paths, ...samples])),
    refusing(() => refuseUnused(options, path)),
    ...samples.map(checkReadable),
  ]);
  return spec;
}

/**
 * checkOutputs checks that outputs replace no input and can be written.
 * @throws InputError where one would replace an input, else with every one that cannot be written
 */
export async function checkOutputs(
  task: string,
  outputs: readonly OutputPath[],
  inputs: readonly InputPath[],
): Promise<void> {
  await refuseReplacing(task, outputs, inputs);
  const named = outputs.filter(({ path }) => path !== '');
  await everyInput(
    task,
    named.map(({ path }) => checkWritable(path)),
  );
}

/** refuseUnused refuses outputs of which nothing could be written. */
function refuseUnused({ samples = [], output, verdicts }: ProfilePipelineOptions, path: string): void {
  const faults: Fault[] = [];
  const given = { output, verdicts };
  for (const [field, value] of Object.entries(given))
    if (value !== undefined && samples.length === 0)
      faults.push(fault(`is for what is counted: give ${option('samples')} too`, option(field)));
  const [from, to] = [path, output ?? path].map((one) => isYamlPath(one));
  if (from !== to)
    faults.push(
      fault(`${output} would hold ${from ? 'YAML' : 'JSON'}, as ${path} does; name it so`, option('output')),
    );
  if (faults.length > 0) throw new InputError(`profile ${path}`, faults);
}

function namedInputs(
  { value: { cluster, load }, path }: Loaded<'pipeline'>,
  others: readonly string[],
): InputPath[] {
  const named = [
    ...(typeof cluster === 'string'
      ? [{ what: 'the cluster of the spec', path: pathFrom(path, cluster) }]
      : []),
    ...(load !== undefined && 'trace' in load
      ? [{ what: 'the trace of the spec', path: pathFrom(path, load.trace) }]
      : []),
  ];
  return [
    { what: 'the spec', path },
    ...named,
    ...others.map((one) => ({ what: 'a file of the pipeline', path: one })),
  ];
}

/** MeasuringMissing also says what samples are for, where nothing is missing and none are given. */
interface MeasuringMissing extends ProfilePipelineOptions {
  readonly whatFor: string;
}

/**
 * measureMissing measures the models whose profiles are missing, or not complete where these are to be continued. The
 * model of `x.profile.json` is `x.onnx` beside it.
 * @returns the paths of the profiles that were measured
 * @throws InputError where profiles are not complete and not to be continued, MissingError where models are missing, and
 *   InterruptedError where an interruption left a part
 */
export async function measureMissing(
  paths: readonly string[],
  spec: string,
  { samples = [], output: _, verdicts: __, whatFor, ...options }: MeasuringMissing,
): Promise<string[]> {
  const wanted: string[] = [];
  const told = new ToldFaults();
  for (const path of paths) {
    const state = await stateOf(path);
    if (state === 'complete') continue;
    if (state === 'begun' && options.resume !== true) {
      told.add(
        fault(`is not complete: measuring it was interrupted; give ${option('resume')} to go on`, path),
      );
      continue;
    }
    wanted.push(path);
    const model = modelOf(path);
    if (!(await exists(model)))
      told.missing([
        fault(`does not exist, and neither does its model ${model}, of which it could be made`, path),
      ]);
  }
  if (told.count > 0) throw told.error(`profile ${spec}`);
  if (wanted.length === 0 && samples.length === 0)
    throw new InputError(`profile ${spec}`, [
      fault(`all of its profiles exist; give ${option('samples')} ${whatFor}`),
    ]);
  const kept: string[] = [];
  for (const path of wanted) {
    const { onProgress, signal } = options;
    try {
      await profileModelFile(modelOf(path), {
        ...options,
        // A stage runs its whole model, so that is what is timed where nobody asks for blocks.
        blocks: options.blocks ?? '1',
        resume: await exists(path),
        output: path,
        ...(onProgress && {
          onProgress: ({ doing, ...rest }) => onProgress({ doing: `${modelOf(path)}: ${doing}`, ...rest }),
        }),
      });
      kept.push(path);
      signal?.throwIfAborted();
    } catch (error) {
      throw signal?.aborted === true && kept.length > 0 ? interruptedAfter(kept) : error;
    }
  }
  return wanted;
}

function interruptedAfter(kept: readonly string[]): InterruptedError {
  return new InterruptedError(
    `interrupted: what was measured is in ${kept.join(', ')}; ${option('resume')} goes on`,
  );
}

async function stateOf(path: string): Promise<'missing' | 'begun' | 'complete'> {
  if (!(await exists(path))) return 'missing';
  return (await loadArtifact(path, ['profile'])).value.measurement?.complete === false ? 'begun' : 'complete';
}

/** missingModel names the model of which a profile that is missing would be made; undefined where the profile is there. */
export async function missingModel(
  profile: string,
): Promise<{ readonly file: string; readonly exists: boolean } | undefined> {
  if (await exists(profile)) return undefined;
  const file = modelOf(profile);
  return { file, exists: await exists(file) };
}

function modelOf(profile: string): string {
  return profile.replace(/(\.profile)?\.(json|ya?ml)$/i, '.onnx');
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function changedText(
  spec: Loaded<'pipeline'>,
  {
    output,
    shares,
  }: { readonly output: string | undefined; readonly shares: Parameters<typeof changedSpec>[1]['shares'] },
): Promise<string> {
  const text = decodedText(await specBytes(spec.path), spec.path);
  const isBeside = output === undefined || dirname(resolve(output)) === dirname(resolve(spec.path));
  const moved = (path: string): string => relativePath(pathFrom(spec.path, path), output);
  return changedSpec({ text, path: spec.path, spec: spec.value }, { shares, ...(isBeside ? {} : { moved }) });
}
