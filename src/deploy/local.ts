import { mkdir, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import {
  artifactText,
  BUNDLE_MANIFEST,
  type Bundle,
  type BundledDevice,
  type BundledPartition,
  type BundleFile,
  emittedHead,
  fault,
  InputError,
  type InputFile,
  MissingError,
  makeFolderWhole,
  type PooledPlan,
  type Profile,
  sha256Of,
  sha256OfFile,
} from '../artifacts/index.js';
import { type ExtractedPieces, extractPieces, type OnnxModel } from '../onnx/index.js';
import { copyPieces } from '../profiler/index.js';
import { checkDeviceCount } from '../serving/index.js';
import { othersThanBundle } from './bundle-folder.js';
import { crossingTypes, nodeRange, profiledCuts, tensorSpecs } from './tensors.js';

/**
 * DeployedModel is one model of the plan: its profile, and its graph as profiled (dimensions bound, batch
 * symbolic).
 */
export interface DeployedModel {
  readonly profile: Profile;
  readonly graph: OnnxModel;
  /** The folder of the model's external data. */
  readonly folder: string;
}

/** LocalBundle holds all that a bundle is written from. */
export interface LocalBundle {
  readonly plan: PooledPlan;
  /** The plan file's bytes, which are copied as they are. */
  readonly planBytes: Uint8Array;
  /** One entry per model of the plan, in its order. */
  readonly models: readonly DeployedModel[];
  readonly inputs: InputFile[];
  /** A signal that stops the writing. */
  readonly signal?: AbortSignal | undefined;
}

/** WrittenBundle holds the manifest as written, and the size of each of its partitions' files. */
export interface WrittenBundle {
  readonly manifest: Bundle;
  readonly sizes: number[];
}

/**
 * writeLocalBundle writes the bundle that `plan serve` runs: `manifest.json`, `plan.json`, and one ONNX file per
 * distinct partition under `models/`. The same inputs give the same bytes. The folder appears whole or not at all. It
 * may replace another bundle, and no other folder.
 * @throws InputError where plan, profile and model do not fit together, a model takes no single row, the plan has more
 *   than a million virtual GPUs, or the folder holds other files; MissingError where the profiles do not say which
 *   provider runs a class; the signal's reason on abort, with the folder as it was
 */
export async function writeLocalBundle(target: string, bundle: LocalBundle): Promise<WrittenBundle> {
  let written: WrittenBundle | undefined;
  await makeFolderWhole(target, othersThanBundle, async (folder) => {
    written = await fill(folder, bundle);
  });
  return written as WrittenBundle;
}

async function fill(folder: string, bundle: LocalBundle): Promise<WrittenBundle> {
  refuseFixedBatches(bundle);
  checkDeviceCount(bundle.plan);
  const devices = bundledDevices(bundle);
  const partitions: BundledPartition[] = [];
  const sizes: number[] = [];
  for (const [m, model] of bundle.models.entries()) {
    const name = fileName(bundle.plan.models[m]?.name ?? '', m);
    await mkdir(join(folder, 'models', name), { recursive: true });
    for (const [from, to] of distinctRanges(bundle.plan, m)) {
      const file = `models/${name}/${from}-${to}.onnx`;
      bundle.signal?.throwIfAborted();
      const where = { folder, file, signal: bundle.signal };
      const { partition, size } = await writePartition(where, model, { model: m, from, to });
      partitions.push(partition);
      sizes.push(size);
    }
  }
  await writeFile(join(folder, 'plan.json'), bundle.planBytes);
  const manifest: Bundle = {
    ...emittedHead('bundle', bundle.inputs),
    target: 'local',
    plan: { path: 'plan.json', sha256: sha256Of(bundle.planBytes) },
    models: bundle.plan.models.map(({ name }, m) => ({
      name,
      inputs: bundle.models[m]?.profile.model.inputs ?? [],
      outputs: bundle.models[m]?.profile.model.outputs ?? [],
    })),
    partitions,
    devices,
  };
  await writeFile(join(folder, BUNDLE_MANIFEST), artifactText<'bundle'>(manifest));
  bundle.signal?.throwIfAborted();
  return { manifest, sizes };
}

/** Smaller pieces of a file are written together. */
const LEAST_WRITTEN_BYTES = 1 << 20;

/** Where a partition is written: a file of the bundle's folder. */
interface Place {
  readonly folder: string;
  readonly file: string;
  readonly signal: AbortSignal | undefined;
}

async function writePartition(
  place: Place,
  { profile, graph, folder: dataFolder }: DeployedModel,
  which: { model: number; from: number; to: number },
): Promise<{ partition: BundledPartition; size: number }> {
  const { folder, file } = place;
  const extracted = extractPieces(graph, {
    ...nodeRange(profile, graph, which),
    types: crossingTypes(profile),
    boundary: profile.boundary ?? 'exact',
    cuts: profiledCuts(profile),
    dataFile: `${basename(file)}.data`,
  });
  await writeFile(join(folder, file), inLargePieces(extracted.pieces, place.signal));
  const model = await written(place, file);
  const data = await writeData(place, extracted, dataFolder);
  const partition: BundledPartition = {
    file,
    sha256: model.sha256,
    ...(data ? { data: [{ path: data.path, sha256: data.sha256 }] } : {}),
    ...which,
    inputs: tensorSpecs(profile, extracted.inputs),
    outputs: tensorSpecs(
      profile,
      extracted.outputs.filter((name) => !isNoTensor(profile, graph, name)),
    ),
  };
  return { partition, size: model.size + (data?.size ?? 0) };
}

/**
 * isNoTensor says whether an output of the model is a sequence or a map. Such an output crosses no cut and is
 * not served.
 */
function isNoTensor(profile: Profile, graph: OnnxModel, name: string): boolean {
  const isOutput = graph.graph.outputs.some((output) => output.name === name);
  return isOutput && !(profile.model.outputs ?? []).some((output) => output.name === name);
}

/** inLargePieces joins small pieces to pieces of at most a MiB, so that a file of many is written in few calls. */
function* inLargePieces(
  pieces: Iterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Generator<Uint8Array> {
  let small: Uint8Array[] = [];
  let size = 0;
  for (const piece of pieces) {
    signal?.throwIfAborted();
    if (size + piece.length >= LEAST_WRITTEN_BYTES && size > 0) {
      yield Buffer.concat(small);
      [small, size] = [[], 0];
    }
    if (piece.length >= LEAST_WRITTEN_BYTES) yield piece;
    else {
      small.push(piece);
      size += piece.length;
    }
  }
  yield Buffer.concat(small);
}

interface WrittenFile extends BundleFile {
  readonly size: number;
}

/** written describes a file of the bundle that has been written. */
async function written({ folder, signal }: Place, path: string): Promise<WrittenFile> {
  const at = join(folder, path);
  return { path, sha256: await sha256OfFile(at, signal), size: (await stat(at)).size };
}

async function writeData(
  place: Place,
  { external }: ExtractedPieces,
  dataFolder: string,
): Promise<WrittenFile | undefined> {
  if (external.length === 0) return undefined;
  const { folder, file, signal } = place;
  const path = `${file}.data`;
  await copyPieces(external, { fromFolder: dataFolder, toFile: join(folder, path), signal });
  return await written(place, path);
}

/** distinctRanges lists the distinct block ranges that the plan's pipelines use of a model, in order. */
function distinctRanges(plan: PooledPlan, model: number): [number, number][] {
  const ranges = new Map<string, [number, number]>();
  for (const pipeline of plan.models[model]?.pipelines ?? []) {
    for (const { blocks } of pipeline.partitions) {
      if (blocks) ranges.set(blocks.join('-'), blocks);
    }
  }
  return [...ranges.values()].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
}

/**
 * refuseFixedBatches refuses a graph that takes exactly b rows, because it cannot serve requests of one row
 * as they come.
 */
function refuseFixedBatches({ models }: LocalBundle): void {
  const faults = models.flatMap(({ profile: { model } }) =>
    model.fixedBatch === undefined || model.fixedBatch === 1
      ? []
      : [fault(`${model.name} runs at batch ${model.fixedBatch} only`)],
  );
  if (faults.length > 0)
    throw new InputError(
      'serve single requests',
      faults,
      'Export the model with batch 1 or a symbolic batch.',
    );
}

/** bundledDevices says how each class of the plan is run: in the way it was profiled. */
function bundledDevices({ plan, models }: LocalBundle): Record<string, BundledDevice> {
  const classes = [...new Set(plan.placement.map((placed) => placed.class))].sort();
  const faults = [];
  const devices: Record<string, BundledDevice> = {};
  for (const name of classes) {
    const profiled = models.map(({ profile }) => profile.devices[name]).find((device) => device?.provider);
    if (!profiled?.provider) {
      faults.push(fault(`the profiles do not say which provider runs class ${JSON.stringify(name)}`));
      continue;
    }
    const { provider, threads, deviceId, slowdown } = profiled;
    devices[name] = {
      provider,
      ...(threads === undefined ? {} : { threads }),
      ...(deviceId === undefined ? {} : { deviceId }),
      ...(slowdown === undefined ? {} : { slowdown, emulated: true as const }),
    };
  }
  if (faults.length > 0) {
    const advice =
      'A local bundle runs on the devices that `plan profile` measured here; imported profiles have none.';
    throw new MissingError('deploy the plan on this machine', faults, advice);
  }
  return devices;
}

/**
 * fileName turns a model's name into a folder's name that every file system takes. The index keeps names
 * apart when characters are lost.
 */
function fileName(name: string, index: number): string {
  const safe = name.replaceAll(/[^A-Za-z0-9._-]/g, '_').replace(/^\.+/, '');
  return safe === name ? name : `${safe}-${index}`;
}

/**
 * refuseLayers refuses a plan in which a partition has no range of blocks, because bundles are made of blocks.
 * @throws InputError with a fault for each such model
 */
export function refuseLayers(plan: PooledPlan): void {
  const faults = plan.models.flatMap(({ name, pipelines }, m) =>
    pipelines.some((pipeline) => pipeline.partitions.some(({ blocks }) => blocks === undefined))
      ? [fault(`${name} is cut between layers inside blocks`, `/models/${m}`)]
      : [],
  );
  if (faults.length > 0)
    throw new InputError('deploy a plan of layer granularity', faults, 'Solve with granularity: block.');
}
