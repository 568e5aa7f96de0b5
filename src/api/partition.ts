import {
  type Boundary,
  checkWritable,
  fault,
  InputError,
  type LatencyTable,
  type Loaded,
  loadArtifact,
  type Profile,
  type ProfiledLayer,
  sameData,
  saveArtifact,
} from '../artifacts/index.js';
import { partitionLayers } from '../partition/index.js';
import type { Chain, PreparedModel } from '../profiler/index.js';
import { changeAtBoundaries, withBoundaryChange } from './boundary-change.js';
import { inputFile, relativePath } from './inputs.js';
import { PROBE_DEVICE, type Step } from './profile.js';

export interface PartitionModelOptions {
  /** A profile of the model: its layer latencies are used, nothing is measured. */
  readonly profile?: string | undefined;
  /** Where layers are measured when there is no profile. */
  readonly devices: readonly string[];
  readonly dim?: Readonly<Record<string, number>> | undefined;
  /** One number for every element of an input that takes certain values only. */
  readonly fill?: Readonly<Record<string, number>> | undefined;
  readonly blocks: number;
  readonly method: 'greedy' | 'min-transfer';
  readonly boundary: Boundary;
  /** Folder the blocks' ONNX files go to. */
  readonly extract?: string | undefined;
  /** Where a profile with these blocks goes, their latencies summed from the layers. */
  readonly output?: string | undefined;
  readonly signal?: AbortSignal;
  readonly onProgress?: (step: Step) => void;
}

export interface PartitionedModel {
  /** The model with its new blocks; latencies are sums of layers. */
  readonly profile: Profile;
  readonly notes: readonly string[];
  /** Change of outputs that float16 boundaries make, of max|output|; not finite where values beyond float16's cross a cut. */
  readonly boundaryChange?: number;
  readonly extracted?: Chain;
}

/**
 * Groups a model's layers into blocks from what a profile measured (or from layers measured now), and writes the blocks as
 * ONNX files or as a profile where that is asked for.
 * @throws InputError where the profile is of another model or has no layer latencies, or a result has nowhere to go
 */
export async function partitionModelFile(
  path: string,
  options: PartitionModelOptions,
): Promise<PartitionedModel> {
  const { checkExtractFolder, prepareModel, randomNote } = await import('../profiler/index.js');
  if (options.extract !== undefined) await checkExtractFolder(options.extract);
  if (options.output !== undefined) await checkWritable(options.output);
  const given = options.profile === undefined ? undefined : await loadArtifact(options.profile, ['profile']);
  const dims = options.dim ?? given?.value.model.dims;
  options.onProgress?.({ doing: `reading ${path}` });
  const prepared = await prepareModel(path, {
    device: PROBE_DEVICE,
    boundary: options.boundary,
    ...(dims ? { dims } : {}),
    ...(options.fill ? { fill: options.fill } : {}),
    ...(options.signal ? { signal: options.signal } : {}),
  });
  const base = given ? ofProfile(given, prepared) : await measuredNow(prepared, options);
  const { ends, notes } = partitionLayers(
    {
      layerLatencyUs: smallestBatch(base.devices),
      cutBytes: prepared.layers.map(({ cutBytes }) => cutBytes),
    },
    { method: options.method, blocks: options.blocks },
  );
  const extracted = await extract(prepared, ends, options);
  const cut = await withBlocks(base, prepared, ends);
  const change = extracted?.largestDifference ?? (await changeAtBoundaries(prepared, cut, PROBE_DEVICE));
  const told = prepared.boundary === 'float16' && change !== undefined;
  const profile = told ? { ...cut, measurement: withBoundaryChange(cut.measurement, change) } : cut;
  if (options.output !== undefined) {
    const inputs = [
      inputFile('model', prepared, options.output),
      ...(given ? [inputFile('profile', given, options.output)] : []),
    ];
    const model = { ...profile.model, file: relativePath(path, options.output), sha256: prepared.sha256 };
    await saveArtifact<'profile'>(options.output, { ...profile, inputs, model });
  }
  const random = change === undefined ? undefined : randomNote(prepared.model);
  const allNotes = random === undefined ? notes : [...notes, random];
  return {
    profile,
    notes: allNotes,
    ...(told ? { boundaryChange: change } : {}),
    ...(extracted ? { extracted } : {}),
  };
}

async function extract(
  prepared: PreparedModel,
  ends: readonly number[],
  { extract: folder, signal }: PartitionModelOptions,
): Promise<Chain | undefined> {
  if (folder === undefined) return undefined;
  const { extractChain } = await import('../profiler/index.js');
  return extractChain(prepared, ends, { folder, device: PROBE_DEVICE, ...(signal ? { signal } : {}) });
}

/** The profile's layer latencies, if it is of this model and has them. */
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
  const { parseDevice } = await import('../execution/index.js');
  const { timeLayers } = await import('../profiler/index.js');
  const { emittedHead } = await import('../artifacts/index.js');
  const devices = options.devices.map(parseDevice);
  options.onProgress?.({ doing: 'measuring layers' });
  const layerUs = await timeLayers(prepared, devices, options.signal);
  const batch = String(prepared.fixedBatch ?? 1);
  return {
    ...emittedHead('profile', []),
    model: {
      name: prepared.name,
      inputs: [...prepared.inputs],
      outputs: [...prepared.outputs],
      ...(Object.keys(prepared.dims).length > 0 ? { dims: { ...prepared.dims } } : {}),
      ...(prepared.fixedBatch === undefined ? {} : { fixedBatch: prepared.fixedBatch }),
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

/** Layer latencies by class, on the whole device at the smallest batch. */
function smallestBatch(devices: Profile['devices']): Record<string, number[]> {
  return Object.fromEntries(
    Object.entries(devices).map(([name, { layerLatencyUs = {} }]) => {
      const byBatch = Object.values(layerLatencyUs)[0] ?? {};
      return [name, (Object.values(byBatch)[0] ?? []).map((us) => us ?? 0)];
    }),
  );
}

const SUMMED =
  'block latencies are sums of layer latencies, not measured: plan profile --blocks <this file> measures them';

async function withBlocks(base: Profile, prepared: PreparedModel, ends: readonly number[]): Promise<Profile> {
  const { blocksAt } = await import('../profiler/index.js');
  const layers: ProfiledLayer[] = [...prepared.layers];
  const devices = Object.entries(base.devices).map(([name, device]) => {
    const { blockLatencyP95Us: _p95, loadMs: _load, ...kept } = device;
    return [name, { ...kept, blockLatencyUs: sums(device.layerLatencyUs ?? {}, ends) }] as const;
  });
  return {
    ...base,
    boundary: prepared.boundary,
    layers,
    blocks: blocksAt(prepared, ends),
    devices: Object.fromEntries(devices),
    measurement: { warnings: [SUMMED] },
  };
}

function sums(layerUs: LatencyTable, ends: readonly number[]): LatencyTable {
  const overBatches = (byBatch: Record<string, (number | null)[]>): Record<string, (number | null)[]> =>
    Object.fromEntries(
      Object.entries(byBatch).map(([batch, us]) => [
        batch,
        ends.map((end, k) => sum(us.slice(ends[k - 1] ?? 0, end))),
      ]),
    );
  return Object.fromEntries(
    Object.entries(layerUs).map(([virtual, byBatch]) => [virtual, overBatches(byBatch)]),
  );
}

function sum(values: readonly (number | null)[]): number | null {
  let total = 0;
  for (const value of values) {
    if (value === null) return null;
    total += value;
  }
  return Math.round(total * 1000) / 1000;
}
