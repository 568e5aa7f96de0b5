import {
  checkReadable,
  emittedHead,
  everyInput,
  inputFile,
  loadArtifact,
  loadSpec,
  outputFiles,
  pathFrom,
  profileInputs,
  refuseReplacing,
  SchemaError,
  specInputs,
  withTemporaryFolder,
  writeWhole,
} from '../artifacts/index.js';
import { itemAt } from '../collections/index.js';
import { type StageToWrite, writeStages } from '../deploy/index.js';
import { checkOnnxRuntime } from '../execution/index.js';
import {
  type CascadeModel,
  type Fault,
  fault,
  firstFaults,
  InputError,
  type Loaded,
  option,
  type PipelineProfile,
  type TensorSpec,
  ToldFaults,
} from '../formats/index.js';
import { unlikeModelFaults } from '../plans/index.js';
import { certaintyQuality, recordsOf } from '../records/index.js';
import { readLabelled, recordFamily } from '../samples/index.js';
import { refusing, SPEC_KINDS, type SpecKind, usedOrTold } from '../specs/index.js';
import { type AlikeModel, unlikeFileFaults } from './alike-models.js';
import { modelOfProfile } from './deploy.js';
import { withHostExecutor } from './host-executor.js';
import {
  checkOutputs,
  measureMissing,
  missingModel,
  type ProfilePipelineOptions,
} from './profile-pipeline.js';

/** ProfileCascadeOptions says on which labelled samples a family is run. */
export interface ProfileCascadeOptions extends ProfilePipelineOptions {
  /** The file of the samples' labels. */
  readonly labels?: string | undefined;
}

/**
 * profileCascade measures the models of a cascade's spec whose profiles are missing, and runs all of them on labelled
 * samples to record what each says and how certain it is. The records are written where the spec looks for them, or where
 * an output is named.
 * @throws InputError with every fault of the spec, the samples or the labels, also where an output would replace an input;
 *   MissingError where files are only missing
 */
export async function profileCascade(path: string, options: ProfileCascadeOptions): Promise<PipelineProfile> {
  const loading = loadSpec(path, ['cascade']);
  const spec = await usedOrTold(path, loading, (one) => withCheckedOptions(one, options));
  const task = `profile ${path}`;
  const { samples = [] } = options;
  const output = recordsPath(spec, options);
  const named = spec.value.models.map(({ profile }) => pathFrom(path, profile));
  const paths = [...new Set(named)];
  const asked = spec.value.models.map(({ name }, i) => ({ name, profile: itemAt(named, i) }));
  const known = await withFiles(asked);
  // Of models that are all profiled already, what is wrong is reported with what else their records need.
  const isToldLater = samples.length > 0 && known.every(({ file }) => file === undefined);
  const unlike = isToldLater ? [] : await unlikeFileFaults(known);
  if (unlike.length > 0) throw new InputError(task, unlike);
  const measured = await measureMissing(paths, path, {
    ...options,
    whatFor: 'to record what the models say',
  });
  const loaded = await everyInput<Loaded<'profile'>[]>(
    task,
    paths.map((one) => loadArtifact(one, ['profile'])),
  );
  await refuseReplacing(
    task,
    outputFiles({ output }),
    loaded.flatMap((one) => profileInputs(one)),
  );
  const head = [...specInputs(spec, undefined), ...loaded.map((one) => inputFile('profile', one, undefined))];
  const base = {
    name: spec.value.name ?? 'cascade',
    profiles: paths.map((one) => ({ path: one, measured: measured.includes(one) })),
  };
  const profiles = named.map((one) => itemAt(loaded, paths.indexOf(one)));
  const apart = unlikeModelFaults(
    asked.map(({ name }, i) => {
      const { inputs, outputs } = itemAt(profiles, i).value.model;
      return { name, inputs, outputs };
    }),
  );
  if (output === undefined && apart.length > 0) throw new InputError(task, apart);
  if (output === undefined) return { ...emittedHead('pipeline-profile', head), ...base, warnings: [] };
  const recorded = await recordsOn(spec, { profiles, apart }, options);
  await writeWhole(output, recorded.text);
  const files = recorded.files.map((file) => inputFile('samples', file, undefined));
  return {
    ...emittedHead('pipeline-profile', [...head, ...files]),
    ...base,
    family: await qualityOf(recorded.text, output),
    warnings: [],
  };
}

/** recordsPath is where the records are written; undefined without samples. */
function recordsPath(
  { path, value }: Loaded<'cascade'>,
  { samples = [], output }: ProfileCascadeOptions,
): string | undefined {
  return samples.length === 0 ? undefined : (output ?? pathFrom(path, value.records));
}

/**
 * withCheckedOptions gives a spec once samples and labels are there and records can be written. @throws InputError with
 * every fault
 */
async function withCheckedOptions(
  spec: Loaded<'cascade'>,
  options: ProfileCascadeOptions,
): Promise<Loaded<'cascade'>> {
  const { path } = spec;
  const task = `profile ${path}`;
  const labelled = [...(options.samples ?? []), ...(options.labels === undefined ? [] : [options.labels])];
  const output = recordsPath(spec, options);
  const read = [path, ...spec.value.models.map(({ profile }) => pathFrom(path, profile)), ...labelled];
  const inputs = read.map((one) => ({ what: 'a file of the cascade', path: one }));
  await everyInput(task, [
    refusing(() => refuseTogether(task, options)),
    checkOutputs(task, outputFiles({ output }), inputs),
    ...labelled.map(checkReadable),
  ]);
  return spec;
}

/** refuseTogether refuses options that do not go together. */
function refuseTogether(
  task: string,
  { samples = [], labels, verdicts, output }: ProfileCascadeOptions,
): void {
  const told = new ToldFaults();
  if (verdicts !== undefined) told.add(fault('is for pipelines', option('verdicts')));
  if (samples.length > 0 && labels === undefined)
    told.add(fault('is needed: the records say which answers are right', option('labels')));
  if (samples.length === 0 && labels !== undefined)
    told.add(fault('is for samples: give them', option('labels')));
  if (samples.length === 0 && output !== undefined)
    told.add(fault('is for records of samples: give these', option('output')));
  if (told.count > 0) throw told.error(task);
}

/** withFiles adds the files of models whose profiles are missing, and leaves out those that have neither. */
async function withFiles(models: readonly AlikeModel[]): Promise<AlikeModel[]> {
  const found = await Promise.all(
    models.map(async (model) => {
      const missing = await missingModel(model.profile);
      if (missing === undefined) return [model];
      return missing.exists ? [{ ...model, file: missing.file }] : [];
    }),
  );
  return found.flat();
}

/** FamilyProfiles are the profiles of a cascade's models, and where their tensors differ. */
interface FamilyProfiles {
  readonly profiles: readonly Loaded<'profile'>[];
  readonly apart: readonly Fault[];
}

/** recordsOn runs the models on the samples, as files that a bundle would hold. */
async function recordsOn(
  spec: Loaded<'cascade'>,
  { profiles, apart }: FamilyProfiles,
  { samples = [], labels = '', signal, onProgress }: ProfileCascadeOptions,
): Promise<{ readonly text: string; readonly files: readonly { path: string; sha256: string }[] }> {
  const task = `record the family of ${spec.path}`;
  const told = new ToldFaults();
  const plan = cascadeToRun(spec, profiles, told);
  for (const one of apart) told.add(one);
  if (told.count > 0) throw told.error(task);
  const { read, known } = await readLabelled(
    { samples, labels, inputs: plan.inputs, scores: plan.scored },
    told,
  );
  if (known === undefined || told.count > 0) throw told.error(task);
  checkOnnxRuntime();
  return withTemporaryFolder('samples', async (folder) => {
    const models = [];
    for (const profile of profiles)
      models.push((await modelOfProfile(profile, { ...(signal && { signal }) })).deployed);
    const { stages } = await writeStages(folder, { stages: plan.stages, models, signal });
    return withHostExecutor(signal, async (executor) => {
      const found = await recordFamily(read.rows, {
        executor,
        labels: known.labels,
        certainty: spec.value.certainty ?? 'top-2',
        signal,
        models: stages.map(({ name, file }, i) => ({
          name,
          file: `${folder}/${file}`,
          output: itemAt(plan.scores, i),
        })),
        onModel: (done) =>
          onProgress?.({ doing: `${done} of ${stages.length} models`, fraction: done / stages.length }),
      });
      if ('faults' in found) throw new InputError(task, firstFaults(found.faults));
      return { text: found.text, files: [...read.files, known.file] };
    });
  });
}

/** CascadeToRun is the models of a cascade as stages, and the outputs that score classes: `scored` where they are known. */
interface CascadeToRun {
  readonly stages: readonly StageToWrite[];
  readonly inputs: never[];
  readonly scores: readonly string[];
  readonly scored: readonly { readonly of: string; readonly output: TensorSpec }[];
}

/** cascadeToRun gives the models as stages that are fed from the request, with the output that each scores classes by. */
function cascadeToRun(
  { value: { models } }: Loaded<'cascade'>,
  profiles: readonly Loaded<'profile'>[],
  told: ToldFaults,
): CascadeToRun {
  const stages = models.map(({ name }, i) => {
    const { inputs = [], outputs = [] } = itemAt(profiles, i).value.model;
    return {
      name,
      next: [],
      outputs,
      inputs: inputs.map((input) => ({ ...input, from: [`request.${input.name}`] })),
    };
  });
  const [first] = stages;
  const wordsOf = (specs: readonly { readonly name: string }[]) => specs.map(({ name }) => name).join(', ');
  const scored: { readonly of: string; readonly output: TensorSpec }[] = [];
  const scores = models.map(({ name, output }: CascadeModel, i) => {
    const { inputs, outputs } = itemAt(stages, i);
    const at = `/models/${i}`;
    if (inputs.length === 0 || outputs.length === 0)
      told.add(fault(`${name}: its profile does not say the model's inputs and outputs`, `${at}/profile`));
    if (output === undefined && outputs.length > 1)
      told.add(fault(`is needed: the model has ${wordsOf(outputs)}`, `${at}/output`));
    const chosen = outputs.find((one) => one.name === (output ?? outputs[0]?.name));
    if (output !== undefined && chosen === undefined)
      told.add(fault(`is ${output}, and the model has ${wordsOf(outputs)}`, `${at}/output`));
    if (chosen?.dtype === 'string')
      told.add(fault(`is ${chosen.name}, which is text; certainty follows from numbers`, `${at}/output`));
    if (chosen !== undefined) scored.push({ of: name, output: chosen });
    return chosen?.name ?? '';
  });
  const inputs = (first?.inputs ?? []).map(({ from: _, ...one }) => one);
  return { stages, scores, scored, inputs: inputs as never[] };
}

async function qualityOf(text: string, path: string): Promise<NonNullable<PipelineProfile['family']>> {
  const records = await recordsOf(text);
  if ('faults' in records) throw new InputError(`read ${path}`, records.faults);
  return {
    records: path,
    samples: records.samples,
    models: certaintyQuality(records).map(({ accuracy, auroc, calibrationError }, i) => ({
      name: itemAt(records.models, i),
      accuracy,
      ...(auroc === undefined ? {} : { auroc }),
      ...(calibrationError === undefined ? {} : { calibrationError }),
    })),
  };
}

/**
 * ProfiledSpecKind is a kind of spec whose models are profiled together. The models of pooled specs are
 * profiled one by one.
 */
export type ProfiledSpecKind = Exclude<SpecKind, 'pooled'>;

const PROFILED_TOGETHER = SPEC_KINDS.filter((kind) => kind !== 'pooled');

/**
 * specKind is the kind of a spec whose models are profiled together.
 * @throws InputError for a pooled spec, with the commands that take its models and the spec; and as `loadSpec` does
 */
export async function specKind(path: string): Promise<ProfiledSpecKind> {
  try {
    return await kindAmong(path, PROFILED_TOGETHER);
  } catch (error) {
    const isPooled = await kindAmong(path, ['pooled']).then(
      () => true,
      () => false,
    );
    if (!isPooled) throw error;
    throw new InputError(
      `profile ${path}`,
      [fault('it is a pooled spec, whose models are profiled one by one', '/kind')],
      'Give plan profile the ONNX file of each model instead. plan solve takes the spec, once its profiles are there.',
    );
  }
}

/** kindAmong gives the kind of a spec of some kinds. Faults of its values are reported when it is used, with its other faults. */
async function kindAmong<K extends SpecKind>(path: string, kinds: readonly K[]): Promise<K> {
  try {
    return (await loadSpec(path, kinds)).kind;
  } catch (error) {
    const kind = error instanceof SchemaError && kinds.find((one) => one === error.kind);
    if (kind) return kind;
    throw error;
  }
}
