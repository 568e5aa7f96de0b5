import {
  type Boundary,
  checkWritable,
  fault,
  InputError,
  type Loaded,
  loadArtifact,
  MissingError,
  type Profile,
  saveArtifact,
} from '../artifacts/index.js';
import type { ProgressEvent } from '../profiler/index.js';
import { changeAtBoundaries, withBoundaryChange } from './boundary-change.js';
import { inputFile, pathFrom, relativePath } from './inputs.js';

/** Where models are run to find out shapes and compare outputs: a device every machine has. */
export const PROBE_DEVICE = { provider: 'cpu', threads: 1 } as const;

/** Progress as a person follows it. */
export interface Step {
  readonly doing: string;
  readonly fraction?: number;
  readonly leftMs?: number;
}

export interface ProfileModelOptions {
  /** Devices as the command line writes them: `cpu:1`, `slow=cpu:1,slowdown=3`, `cuda:0`. */
  readonly devices: readonly string[];
  readonly batch: readonly number[];
  readonly virtual: readonly number[];
  readonly dim?: Readonly<Record<string, number>> | undefined;
  /** One number for every element of an input that takes certain values only. */
  readonly fill?: Readonly<Record<string, number>> | undefined;
  /** A number of blocks (10), or the path of a profile whose blocks are measured. */
  readonly blocks?: string | undefined;
  /** `greedy` by default. */
  readonly method?: 'greedy' | 'min-transfer' | undefined;
  readonly boundary: Boundary;
  readonly warmup: number;
  readonly minRuns: number;
  readonly minMs: number;
  readonly maxMs: number;
  /** Most bytes of memory that the processes which run the model may take; what is available, less a reserve, by default. */
  readonly memoryLimit?: number | undefined;
  /** Go on with an interrupted profile at `output`. */
  readonly resume?: boolean | undefined;
  /** Where the profile is written; `<model>.profile.json` beside the working folder by default. */
  readonly output?: string | undefined;
  readonly signal?: AbortSignal;
  readonly onProgress?: (step: Step) => void;
  /** Told what else is to be known: devices that are left out, with what they lack; what grouping layers gave up. */
  readonly onNote?: (text: string) => void;
}

/**
 * Profiles a model on devices of this machine and writes the profile; every few seconds what is measured so far is written too,
 * with `measurement.complete: false`, and `resume` goes on with it after an abort or a crash.
 * @throws InputError for a bad model or bad options, MissingError where no device is there
 */
export async function profileModelFile(
  path: string,
  options: ProfileModelOptions,
): Promise<{ profile: Profile; path: string }> {
  const { parseDevice } = await import('../execution/index.js');
  const { prepareModel, profileModel } = await import('../profiler/index.js');
  const devices = options.devices.map(parseDevice);
  const output = options.output ?? `${path.replace(/^.*\//, '').replace(/\.onnx$/, '')}.profile.json`;
  await checkWritable(output);
  const resume = options.resume ? (await loadArtifact(output, ['profile'])).value : undefined;
  const cut = await blocksOption(options);
  options.onProgress?.({ doing: `reading ${path}` });
  const prepared = await prepareModel(path, {
    device: PROBE_DEVICE,
    boundary: options.boundary,
    ...(options.dim ? { dims: options.dim } : {}),
    ...(options.fill ? { fill: options.fill } : {}),
    ...(options.signal ? { signal: options.signal } : {}),
    memoryLimitBytes: options.memoryLimit,
  });
  const placed = (profile: Profile): Profile => ({
    ...profile,
    inputs: [
      inputFile('model', prepared, output),
      ...(cut.blocksOf ? [inputFile('blocks', cut.blocksOf, output)] : []),
    ],
    model: { ...profile.model, file: relativePath(path, output), sha256: prepared.sha256 },
  });
  let kept = false;
  const keep = async (profile: Profile): Promise<void> => {
    const measurement = { ...profile.measurement, complete: false };
    await saveArtifact<'profile'>(output, { ...placed(profile), measurement });
    kept = true;
  };
  const measured = await profileModel(prepared, {
    devices,
    batchSizes: options.batch,
    virtualSizes: Object.fromEntries(devices.map(({ className }) => [className, options.virtual])),
    ...(cut.blocksOf ? { blocksOf: cut.blocksOf.value } : { partition: cut.partition }),
    limits: {
      warmupRuns: options.warmup,
      minRuns: options.minRuns,
      minMs: options.minMs,
      maxMs: options.maxMs,
    },
    ...(resume ? { resume } : {}),
    memoryLimitBytes: options.memoryLimit,
    ...(options.signal ? { signal: options.signal } : {}),
    onProgress: (event) => follow(event, options),
    onCheckpoint: keep,
    date: new Date().toISOString().slice(0, 10),
  }).catch((error: unknown) => {
    if (kept) options.onNote?.(`what was measured until then is in ${output}: --resume goes on with it`);
    throw error;
  });
  if (measured.boundary === 'float16') await keep(measured);
  const change = await changeAtBoundaries(prepared, measured, PROBE_DEVICE);
  const profile = placed({
    ...measured,
    ...(change === undefined ? {} : { measurement: withBoundaryChange(measured.measurement, change) }),
  });
  await saveArtifact<'profile'>(output, profile);
  return { profile, path: output };
}

type Cut =
  | { readonly blocksOf: Loaded<'profile'>; readonly partition?: undefined }
  | {
      readonly blocksOf?: undefined;
      readonly partition: { method?: 'greedy' | 'min-transfer'; blocks?: number };
    };

/** Only what is asked for: what is not may differ in a profile that is gone on with. */
async function blocksOption({ blocks: text, method }: ProfileModelOptions): Promise<Cut> {
  const how = method === undefined ? {} : { method };
  if (text === undefined) return { partition: how };
  if (/^[1-9]\d{0,5}$/.test(text)) return { partition: { ...how, blocks: Number(text) } };
  if (method !== undefined) {
    const said = `the blocks are those of ${text}: there is nothing for it to group`;
    throw new InputError('use --method', [fault(said)], 'Leave it out, or give --blocks a number.');
  }
  try {
    return { blocksOf: await loadArtifact(text, ['profile']) };
  } catch (error) {
    if (!(error instanceof MissingError)) throw error;
    const said = `${JSON.stringify(text)} is neither a number of blocks nor a profile's file`;
    throw new InputError('use --blocks', [fault(said)]);
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

/** Merges profiles of the same model and blocks, and writes the result. */
export async function mergeProfileFiles(paths: readonly string[], output: string): Promise<Profile> {
  const { mergeProfiles } = await import('../profiler/index.js');
  const loaded = await Promise.all(paths.map((path) => loadArtifact(path, ['profile'])));
  const merged: Profile = {
    ...mergeProfiles(loaded.map(({ value, path }) => ({ profile: value, path }))),
    inputs: loaded.map((profile) => inputFile('profile', profile, output)),
  };
  const file = loaded
    .map(({ value, path }) => value.model.file && { file: value.model.file, path })
    .find(Boolean);
  if (file) merged.model = { ...merged.model, file: relativePath(pathFrom(file.path, file.file), output) };
  await saveArtifact<'profile'>(output, merged);
  return merged;
}
