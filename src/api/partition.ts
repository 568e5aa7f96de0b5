import {
  checkReadable,
  checkWritable,
  emittedHead,
  everyInput,
  externalInputs,
  type InputPath,
  inputFile,
  loadArtifact,
  type OutputPath,
  outputFiles,
  profileInputs,
  refuseReplacing,
  relativePath,
  saveArtifact,
} from '../artifacts/index.js';
import { parseDevice } from '../execution/index.js';
import {
  type Boundary,
  cellName,
  type DeviceProfile,
  type DimValues,
  fault,
  figureName,
  InputError,
  type LatencyTable,
  type Loaded,
  type Measurement,
  option,
  type Profile,
  type ProfiledLayer,
  refuseContradictions,
  sameData,
  type UnfitFigure,
  type UnfitFigures,
  unfitFigures,
} from '../formats/index.js';
import { partitionLayers } from '../partition/index.js';
import {
  blocksAt,
  boundFields,
  type Chain,
  checkExtractFolder,
  extractChain,
  missingCuts,
  type PreparedModel,
  prepareModel,
  randomNote,
  timeLayersByClass,
} from '../profiler/index.js';
import { asProfiled } from '../specs/index.js';
import { changeAtBoundaries, withBoundaryChange } from './boundary-change.js';
import { PROBE_DEVICE, type ProgressStep } from './profile.js';

/** PartitionModelOptions says how a model is grouped into blocks, and what is written. */
export interface PartitionModelOptions {
  /** A profile of the model. Its layer latencies are used, so that nothing is measured. */
  readonly profile?: string | undefined;
  /** The devices that layers are measured on when there is no profile. */
  readonly devices: readonly string[];
  /** Sizes of free dimensions, by name or as `<input>.<axis>`, or `batch` for one that is the batch. */
  readonly dim?: Readonly<DimValues> | undefined;
  /** How far the rows of a batch may be from those of a request alone; by default as in the profile. */
  readonly batchTolerance?: number | undefined;
  /** Whether to take batches although nothing shows that rows keep apart. */
  readonly trustBatch?: boolean | undefined;
  /** For inputs that take certain values only, the number that fills each of their elements. */
  readonly fill?: Readonly<Record<string, number>> | undefined;
  readonly blocks: number;
  readonly method: 'greedy' | 'min-transfer';
  readonly boundary: Boundary;
  /** The folder that the blocks' ONNX files are written to. */
  readonly extract?: string | undefined;
  /** The file for a profile with these blocks, whose latencies are sums of layers and of what cuts add. */
  readonly output?: string | undefined;
  readonly signal?: AbortSignal;
  readonly onProgress?: (step: ProgressStep) => void;
}

/** PartitionedModel is the result of `partitionModelFile`. */
export interface PartitionedModel {
  /**
   * The model with its new blocks, as it is written where an output is named. Its latencies are sums of layers and of
   * what cuts add.
   */
  readonly profile: Profile;
  readonly notes: readonly string[];
  /**
   * How much float16 at the boundaries changes the outputs, as a share of max|output|. It is not finite where values
   * beyond the range of float16 cross a cut.
   */
  readonly boundaryChange?: number;
  readonly extracted?: Chain;
}

/**
 * partitionModelFile groups a model's layers into blocks by their profiled latencies, or, without a profile, by
 * latencies that it measures on `devices` at batch 1 (or the model's only batch size). It writes the blocks as ONNX
 * files where `extract` names a folder, and as a profile where `output` names a file.
 * @throws InputError where the profile is of another model or has no layer latencies, or a result has an empty path or
 *   would replace the model or the profile; MissingError where a file is missing; the signal's reason on abort
 */
export async function partitionModelFile(
  path: string,
  options: PartitionModelOptions,
): Promise<PartitionedModel> {
  const [given] = await everyInput(`partition ${path}`, [
    options.profile === undefined ? Promise.resolve(undefined) : loadArtifact(options.profile, ['profile']),
    checkReadable(path),
  ]);
  if (given !== undefined) refuseOtherDims(path, options.dim, given.value.model.dims ?? {});
  const refuse = (inputs: readonly InputPath[]): Promise<void> =>
    refuseReplacing(`partition ${path}`, partitionOutputs(options), inputs);
  await refuse([{ what: 'the model', path }, ...(given ? profileInputs(given) : [])]);
  if (options.extract !== undefined) await checkExtractFolder(options.extract);
  if (options.output !== undefined) await checkWritable(options.output);
  options.onProgress?.({ doing: `reading ${path}` });
  const prepared = await prepareModel(path, {
    device: PROBE_DEVICE,
    ...preparation(options, given?.value),
    onDataFiles: (locations) => refuse(externalInputs(path, locations)),
  });
  const base = given ? ofProfile(given, prepared) : await measuredNow(prepared, options);
  const { ends, notes } = partitionLayers(
    {
      layerLatencyUs: smallestBatch(base.devices),
      cutBytes: prepared.layers.map(({ cutBytes }) => cutBytes),
    },
    { method: options.method, blocks: options.blocks },
  );
  const cut = withBlocks(base, prepared, ends);
  if (options.output !== undefined) refuseContradictions(cut, `partition ${path}`);
  const extracted = await extract(prepared, ends, options);
  const change =
    extracted?.largestDifference ??
    (await changeAtBoundaries(prepared, cut, { device: PROBE_DEVICE, signal: options.signal }));
  const told = prepared.boundary === 'float16' && change !== undefined;
  const profile: Profile = {
    ...cut,
    ...(told ? { measurement: withBoundaryChange(cut.measurement, change) } : {}),
    inputs: [
      inputFile('model', prepared, options.output),
      ...(given ? [inputFile('profile', given, options.output)] : []),
    ],
    model: {
      ...cut.model,
      ...boundFields(prepared),
      file: relativePath(path, options.output),
      sha256: prepared.sha256,
    },
  };
  if (options.output !== undefined) await saveArtifact<'profile'>(options.output, profile);
  const random = change === undefined ? undefined : randomNote(prepared.model);
  const further = [missingCuts(prepared.layers), random].filter((note) => note !== undefined);
  return {
    profile,
    notes: [...notes, ...further],
    ...(told ? { boundaryChange: change } : {}),
    ...(extracted ? { extracted } : {}),
  };
}

function partitionOutputs({ extract: folder, output }: PartitionModelOptions): OutputPath[] {
  const extracted = folder === undefined ? [] : [{ field: 'extract', path: folder, isFolder: true }];
  return [...extracted, ...outputFiles({ output })];
}

async function extract(
  prepared: PreparedModel,
  ends: readonly number[],
  { extract: folder, signal }: PartitionModelOptions,
): Promise<Chain | undefined> {
  if (folder === undefined) return undefined;
  return extractChain(prepared, ends, { folder, device: PROBE_DEVICE, ...(signal ? { signal } : {}) });
}

/**
 * ofProfile returns the profile if it is of this model and has layer latencies.
 * @throws InputError otherwise
 */
function ofProfile({ value: profile, path }: Loaded<'profile'>, prepared: PreparedModel): Profile {
  const faults = [];
  if (profile.model.sha256 !== undefined && profile.model.sha256 !== prepared.sha256) {
    faults.push(fault(`it is of another file than ${prepared.path}: the digests differ`));
  } else if (profile.model.sha256 !== undefined && !sameData(profile.model.data, prepared.data)) {
    faults.push(fault(`it is of other external data than that of ${prepared.path}: a digest differs`));
  }
  const lacking = Object.entries(profile.devices).filter(([, device]) => device.layerLatencyUs === undefined);
  for (const [name] of lacking) faults.push(fault('there are no layer latencies', `/devices/${name}`));
  if (faults.length > 0)
    throw new InputError(`use the layers of ${path}`, faults, 'Profile the model again.');
  return profile;
}

async function measuredNow(prepared: PreparedModel, options: PartitionModelOptions): Promise<Profile> {
  const devices = options.devices.map(parseDevice);
  options.onProgress?.({ doing: 'measuring layers' });
  const layerUs = await timeLayersByClass(prepared, devices, options.signal);
  const batch = String(prepared.fixedBatch ?? 1);
  return {
    ...emittedHead('profile', []),
    model: {
      name: prepared.name,
      inputs: [...prepared.inputs],
      outputs: [...prepared.outputs],
      ...boundFields(prepared),
    },
    blocks: [],
    devices: Object.fromEntries(
      devices.map(({ className, device }) => [
        className,
        {
          ...device,
          ...((device.slowdown ?? 1) === 1 ? {} : { emulated: true as const }),
          blockLatencyUs: {},
          layerLatencyUs: { 1: { [batch]: layerUs[className] ?? [] } },
        },
      ]),
    ),
  };
}

/** preparation gives the options of `prepareModel`. Options that are not given are taken from the profile. */
function preparation(
  { boundary, dim, batchTolerance, trustBatch, fill, signal }: PartitionModelOptions,
  given: Profile | undefined,
) {
  const profiled = given === undefined ? {} : asProfiled(given.model);
  return {
    boundary,
    ...profiled,
    ...(dim ? { dims: dim } : {}),
    ...(batchTolerance ? { batchTolerance } : {}),
    ...(trustBatch ? { trustBatch } : {}),
    ...(fill ? { fill: { ...profiled.fill, ...fill } } : {}),
    ...(signal ? { signal } : {}),
  };
}

/** refuseOtherDims refuses sizes that are not those of the profile, because its latencies are not of them. */
function refuseOtherDims(path: string, dims: Readonly<DimValues> | undefined, profiled: DimValues): void {
  if (dims === undefined) return;
  const names = [...new Set([...Object.keys(dims), ...Object.keys(profiled)])];
  const faults = names
    .filter((name) => dims[name] !== profiled[name])
    .map((name) =>
      fault(`${name} is ${dims[name] ?? 'not given'}; the profile is of ${profiled[name] ?? 'none'}`),
    );
  if (faults.length > 0)
    throw new InputError(
      `partition ${path} by a profile of other dimensions`,
      faults,
      `Leave out ${option('dim')}, or profile the model with these sizes.`,
    );
}

/** smallestBatch gives the layer latencies by class, on the whole device at the smallest batch. */
function smallestBatch(devices: Profile['devices']): Record<string, number[]> {
  return Object.fromEntries(
    Object.entries(devices).map(([name, { layerLatencyUs = {} }]) => {
      const byBatch = Object.values(layerLatencyUs)[0] ?? {};
      return [name, (Object.values(byBatch)[0] ?? []).map((us) => us ?? 0)];
    }),
  );
}

const SUMMED =
  'block latencies are sums of layer latencies and of what cuts add, not measured; plan profile measures them, given this file by its option --blocks';

/**
 * withBlocks gives a profile with the blocks that end at `ends`. Its figures come from the host that measured the layers,
 * and what the blocks of an unfit cell added is as unfit as they are.
 */
function withBlocks(base: Profile, prepared: PreparedModel, ends: readonly number[]): Profile {
  const layers: ProfiledLayer[] = [...prepared.layers];
  const devices = Object.entries(base.devices).map(([name, device]) => {
    const { blockLatencyP95Us: _p95, pairLatencyUs: _pairs, loadMs: _load, ...kept } = device;
    return [name, { ...kept, blockLatencyUs: sums(device, ends) }] as const;
  });
  return {
    ...base,
    boundary: prepared.boundary,
    layers,
    blocks: blocksAt(prepared, ends),
    devices: Object.fromEntries(devices),
    measurement: summedMeasurement(base, ends.length),
  };
}

function summedMeasurement(base: Profile, blocks: number): Measurement {
  const host = base.measurement?.host;
  const byCell = new Map<string, UnfitFigures[]>();
  for (const one of unfitFigures(base)) {
    const name = cellName({ className: one.class, virtual: one.virtual, batch: one.batch });
    byCell.set(name, [...(byCell.get(name) ?? []), one]);
  }
  const unfit = [...byCell].flatMap(([name, those]) => summedUnfit(name, those, blocks));
  return {
    ...(host === undefined ? {} : { host }),
    ...(unfit.length > 0 ? { unfit } : {}),
    warnings: [SUMMED, ...unfit.map(({ warning }) => warning)],
  };
}

/** summedUnfit names the figures of a cell that come from unfit ones: the whole model, and what each cut adds. */
function summedUnfit(name: string, those: readonly UnfitFigures[], blocks: number): UnfitFigures[] {
  const [first] = those;
  const parts = new Set(those.flatMap(({ figures }) => figures.map(({ part }) => part)));
  const figures: UnfitFigure[] = parts.has('whole') ? [{ part: 'whole' }] : [];
  if (parts.has('whole') || parts.has('block'))
    for (let block = 1; block < blocks; block++) figures.push({ part: 'block', block });
  if (first === undefined || figures.length === 0) return [];
  const warning = `${name}: ${figures.length} figures are unfit (${figures.map(figureName).join(', ')}): the profile whose layers these are calls figures of this cell unfit`;
  return [{ ...first, figures, warning }];
}

/** Blocks take the sums of their layers, and all but the first what a cut adds. */
function sums(device: DeviceProfile, ends: readonly number[]): LatencyTable {
  return Object.fromEntries(
    Object.entries(device.layerLatencyUs ?? {}).map(([virtual, byBatch]) => [
      virtual,
      Object.fromEntries(
        Object.entries(byBatch).map(([batch, us]) => {
          const cutUs = meanCutUs(device, virtual, batch);
          return [batch, ends.map((end, k) => sum(us.slice(ends[k - 1] ?? 0, end), k === 0 ? 0 : cutUs))];
        }),
      ),
    ]),
  );
}

/**
 * The time that the profiled blocks take more than the whole model, per cut; 0 if that was not measured, or
 * they take less.
 */
function meanCutUs(
  { blockLatencyUs, wholeLatencyUs }: DeviceProfile,
  virtual: string,
  batch: string,
): number {
  const blocks = blockLatencyUs[virtual]?.[batch] ?? [];
  const all = sum(blocks);
  const whole = wholeLatencyUs?.[virtual]?.[batch];
  if (all === null || whole === undefined || blocks.length < 2) return 0;
  return Math.max(0, (all - whole) / (blocks.length - 1));
}

function sum(values: readonly (number | null)[], more = 0): number | null {
  let total = more;
  for (const value of values) {
    if (value === null) return null;
    total += value;
  }
  return Math.round(total * 1000) / 1000;
}
