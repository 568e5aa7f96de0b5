import {
  checkReadable,
  checkWritable,
  everyInput,
  externalInputs,
  type InputPath,
  inputFile,
  loadArtifact,
  outputFiles,
  pathFrom,
  profileInputs,
  refuseReplacing,
  relativePath,
  saveArtifact,
} from '../artifacts/index.js';
import { checkOnnxRuntime, crowdedHost, type NamedDevice, parseDevice } from '../execution/index.js';
import {
  contradictionNotes,
  fault,
  InputError,
  type InputFile,
  type Loaded,
  MissingError,
  option,
  type Profile,
  refuseContradictions,
  shown,
} from '../formats/index.js';
import {
  mergeProfiles,
  type PreparedModel,
  type ProgressEvent,
  prepareModel,
  profileModel,
} from '../profiler/index.js';
import { changeAtBoundaries, withBoundaryChange } from './boundary-change.js';
import { type AskedCampaign, askedCampaign, type CampaignOptions } from './profile-campaign.js';

/** Models are run on this device to find out shapes and to compare outputs, because every machine has it. */
export const PROBE_DEVICE = { provider: 'cpu', threads: 1 } as const;

/** ProgressStep is a step of progress as it is shown to a person. */
export interface ProgressStep {
  readonly doing: string;
  readonly fraction?: number;
  readonly leftMs?: number | undefined;
}

/** ProfileModelOptions says what is measured, and where the profile is written. */
export interface ProfileModelOptions extends CampaignOptions {
  /**
   * A number of blocks (10 by default), or the path of a profile whose blocks are measured. The model is then read as it
   * was for that profile, where options do not say otherwise.
   */
  readonly blocks?: string | undefined;
  /** How layers are grouped into blocks; by default `greedy`. */
  readonly method?: 'greedy' | 'min-transfer' | undefined;
  /**
   * The most memory in bytes that the processes which run the model may take; by default the available memory, less a
   * reserve.
   */
  readonly memoryLimit?: number | undefined;
  /** Whether to continue an interrupted profile at `output`. Options then only add to what it was asked for. */
  readonly resume?: boolean | undefined;
  /** The file of the profile: `<model>.profile.json` in the working folder by default; false writes none. */
  readonly output?: string | false | undefined;
  readonly signal?: AbortSignal;
  readonly onProgress?: (step: ProgressStep) => void;
  /**
   * onNote receives further notes: devices that are left out and what they lack, what the grouping of layers gave up,
   * and whether one device of each class leaves too little of this host for a server.
   */
  readonly onNote?: (text: string) => void;
}

/**
 * profileModelFile profiles a model on devices of this machine and writes the profile. Every few seconds it
 * writes what is measured so far, with `measurement.complete: false`. After an abort or a crash, `resume`
 * continues from there, with what the profile was asked for.
 * @returns the profile, and the path it was written to, if any
 * @throws InputError for a bad model or bad options, or where the output would replace the model or the
 *   profile that gives the blocks; MissingError where ONNX Runtime is not installed, no device is present, or the model
 *   or the profile is missing
 */
export async function profileModelFile(
  path: string,
  options: ProfileModelOptions,
): Promise<{ profile: Profile; path: string | undefined }> {
  for (const text of options.devices ?? []) parseDevice(text);
  const output = outputOf(path, options);
  if (output !== undefined) await checkWritable(output, { isUpdate: options.resume === true });
  const refuse = (inputs: readonly InputPath[]): Promise<void> =>
    refuseReplacing(`profile ${path}`, outputFiles({ output }), inputs);
  await refuse([{ what: 'the model', path }]);
  const { before, cut } = await readInputs(path, options, output);
  const { blocksOf } = cut;
  if (blocksOf !== undefined) await refuse(profileInputs(blocksOf, 'the profile that gives the blocks'));
  checkOnnxRuntime();
  const asked = await askedCampaign(options, before?.value, blocksOf?.value);
  options.onProgress?.({ doing: `reading ${path}` });
  const prepared = await prepareModel(path, {
    device: PROBE_DEVICE,
    boundary: asked.boundary,
    ...asked.model,
    ...bounds(options),
    onDataFiles: (locations) => refuse(externalInputs(path, locations)),
  });
  const placed = (profile: Profile): Profile => ({
    ...withAsked(profile, asked),
    inputs: inputsOf(prepared, { blocksOf, before: before?.value, output }),
    model: { ...profile.model, file: relativePath(path, output), sha256: prepared.sha256 },
  });
  let kept: Profile | undefined;
  const keep = async (profile: Profile): Promise<void> => {
    if (output === undefined) return;
    const measurement = { ...profile.measurement, complete: false };
    await saveArtifact<'profile'>(output, placed({ ...profile, measurement }), {
      isUpdate: before !== undefined,
    });
    kept = profile;
  };
  const measured = await profileModel(prepared, {
    ...measuredCells(asked, asked.cells.devices.map(parseDevice)),
    ...bounds(options),
    ...(blocksOf ? { blocksOf: blocksOf.value } : { partition: cut.partition }),
    ...(before ? { resume: before.value } : {}),
    onProgress: (event) => follow(event, options),
    onCheckpoint: keep,
    date: new Date().toISOString().slice(0, 10),
  }).catch((error: unknown) => {
    if (kept !== undefined) options.onNote?.(`what was measured until then is in ${output}: ${nextOf(kept)}`);
    throw error;
  });
  if (measured.boundary === 'float16') await keep(measured);
  const profile = placed(await probed(prepared, measured, options.signal));
  if (output !== undefined)
    await saveArtifact<'profile'>(output, profile, { isUpdate: before !== undefined });
  await noteFaults(profile, asked, options);
  return { profile, path: output };
}

/**
 * probed tries what float16 at the boundaries changes, where blocks have that. A profile whose probe was interrupted is not
 * complete: going on with it probes again.
 */
async function probed(
  prepared: PreparedModel,
  measured: Profile,
  signal: AbortSignal | undefined,
): Promise<Profile> {
  if (measured.boundary !== 'float16') return measured;
  const begun = { ...measured, measurement: { ...measured.measurement, complete: false } };
  if (signal?.aborted) return begun;
  try {
    const change = await changeAtBoundaries(prepared, measured, { device: PROBE_DEVICE, signal });
    if (change === undefined) return measured;
    return { ...measured, measurement: withBoundaryChange(measured.measurement, change) };
  } catch (error) {
    if (!signal?.aborted) throw error;
    return begun;
  }
}

/** nextOf says what becomes of a profile that was interrupted: no command reads one that contradicts itself. */
function nextOf(kept: Profile): string {
  return contradictionNotes(kept)[0] ?? `${option('resume')} continues with it`;
}

/** noteFaults reports what keeps a profile from being planned with, or its devices from being served as it says. */
async function noteFaults(
  profile: Profile,
  asked: AskedCampaign,
  options: ProfileModelOptions,
): Promise<void> {
  for (const note of contradictionNotes(profile)) options.onNote?.(note);
  await noteCrowd(asked, options);
}

/** noteCrowd reports where one device of each of several classes would leave too little of this host for a server. */
async function noteCrowd({ cells }: AskedCampaign, { onNote }: ProfileModelOptions): Promise<void> {
  const devices = cells.devices.map((text) => ({ ...parseDevice(text), count: 1 }));
  const crowded = devices.length > 1 ? crowdedHost(devices) : undefined;
  if (crowded !== undefined) onNote?.(`with one of each class on this host, ${crowded}`);
}

/** withAsked adds to a profile that is not complete what it was asked for. */
function withAsked({ measurement, ...profile }: Profile, { allCells }: AskedCampaign): Profile {
  if (measurement === undefined) return profile;
  const asked = measurement.complete === false ? { asked: allCells } : {};
  return { ...profile, measurement: { ...measurement, ...asked } };
}

/** readInputs reads the profile to continue and the one that gives the blocks, and checks that the model is there. */
async function readInputs(
  path: string,
  options: ProfileModelOptions,
  output: string | undefined,
): Promise<{ before: Loaded<'profile'> | undefined; cut: Cut }> {
  const [before, cut] = await everyInput(`profile ${path}`, [
    options.resume && output !== undefined ? loadArtifact(output, ['profile']) : Promise.resolve(undefined),
    blocksOption(options),
    checkReadable(path),
  ]);
  return { before, cut };
}

/**
 * profilePathOf names the file that the profile of the model at a path has by default: `<model>.profile.json` in the
 * working folder.
 */
export function profilePathOf(model: string): string {
  return `${model.replace(/^.*\//, '').replace(/\.onnx$/, '')}.profile.json`;
}

/**
 * inputsOf names the files that a profile was made from, as seen from where it is written. A profile that is continued
 * keeps the one that its blocks are from.
 */
function inputsOf(
  model: Parameters<typeof inputFile>[1],
  {
    blocksOf,
    before,
    output,
  }: {
    readonly blocksOf: Loaded<'profile'> | undefined;
    readonly before: Profile | undefined;
    readonly output: string | undefined;
  },
): InputFile[] {
  const kept = (before?.inputs ?? []).filter(({ role }) => role === 'blocks');
  const blocks = blocksOf === undefined ? kept : [inputFile('blocks', blocksOf, output)];
  return [inputFile('model', model, output), ...blocks];
}

/** measuredCells gives the options for the cells to measure and the time for each. */
function measuredCells({ cells: { batch, virtual }, limits }: AskedCampaign, devices: NamedDevice[]) {
  return {
    devices,
    batchSizes: batch,
    virtualSizes: Object.fromEntries(devices.map(({ className }) => [className, virtual])),
    limits,
  };
}

/** bounds gives the options that end the work or limit its memory. */
function bounds({ signal, memoryLimit }: ProfileModelOptions) {
  return { memoryLimitBytes: memoryLimit, ...(signal && { signal }) };
}

/** outputOf gives the file a profile is written to. Where there is none, there is none to continue either. */
function outputOf(path: string, { output, resume }: ProfileModelOptions): string | undefined {
  if (output !== false) return output ?? profilePathOf(path);
  if (resume) throw new InputError(`use ${option('resume')}`, [fault('there is no output file to continue')]);
  return undefined;
}

type Cut =
  | { readonly blocksOf: Loaded<'profile'>; readonly partition?: undefined }
  | {
      readonly blocksOf?: undefined;
      readonly partition: { method?: 'greedy' | 'min-transfer'; blocks?: number };
    };

/**
 * blocksOption gives only the options that were given, because the others may differ in a profile that is
 * continued.
 */
async function blocksOption({ blocks: text, method }: ProfileModelOptions): Promise<Cut> {
  const how = method === undefined ? {} : { method };
  if (text === undefined) return { partition: how };
  if (/^[1-9]\d{0,5}$/.test(text)) return { partition: { ...how, blocks: Number(text) } };
  if (method !== undefined) {
    const said = `the blocks are those of ${text}, so there is nothing to group`;
    throw new InputError(
      `use ${option('method')}`,
      [fault(said)],
      `Leave it out, or give ${option('blocks')} a number.`,
    );
  }
  try {
    return { blocksOf: await loadArtifact(text, ['profile']) };
  } catch (error) {
    if (!(error instanceof MissingError)) throw error;
    const said = `${shown(text)} is neither a number of blocks nor a profile's file`;
    throw new InputError(`use ${option('blocks')}`, [fault(said)]);
  }
}

function follow(event: ProgressEvent, { onProgress, onNote }: ProfileModelOptions): void {
  switch (event.kind) {
    case 'unavailable':
      onNote?.(`${event.className} is left out: ${event.missing}`);
      return;
    case 'phase':
      onProgress?.({ doing: `measuring ${event.phase} on ${event.className}` });
      return;
    case 'progress': {
      const { className, virtual, batch } = event.cells;
      onProgress?.({
        doing: `blocks on ${className} 1/${virtual}, batch ${batch}`,
        fraction: event.total === 0 ? 1 : event.done / event.total,
        leftMs: event.leftMs,
      });
      return;
    }
    case 'partitioned':
      for (const note of event.notes) onNote?.(note);
      return;
    case 'warning':
      return;
  }
}

/**
 * mergeProfileFiles merges profiles of the same model and blocks, and writes the result where an output is named. Its
 * `inputs` are the profiles, and its model's file is that of the first profile that names one.
 * @throws InputError where they do not fit together, or the output would replace one of them or its model; MissingError
 *   where one is missing
 */
export async function mergeProfileFiles(
  paths: readonly string[],
  output: string | undefined,
): Promise<Profile> {
  const loaded = await everyInput<Loaded<'profile'>[]>(
    'merge the profiles',
    paths.map((path) => loadArtifact(path, ['profile'])),
  );
  const inputs = loaded.flatMap((profile) => profileInputs(profile, 'a profile to merge'));
  await refuseReplacing('merge profiles', outputFiles({ output }), inputs);
  const merged: Profile = {
    ...mergeProfiles(loaded.map(({ value, path }) => ({ profile: value, path }))),
    inputs: loaded.map((profile) => inputFile('profile', profile, output)),
  };
  const file = loaded
    .map(({ value, path }) => value.model.file && { file: value.model.file, path })
    .find(Boolean);
  refuseContradictions(merged, 'merge profiles');
  if (file) merged.model = { ...merged.model, file: relativePath(pathFrom(file.path, file.file), output) };
  if (output !== undefined) await saveArtifact<'profile'>(output, merged);
  return merged;
}
