import { stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { sha256OfFile } from '../artifacts/index.js';
import type { BundleFile, Profile, TensorSpec } from '../formats/index.js';
import { type ExtractedPieces, extractPieces, type OnnxModel } from '../onnx/index.js';
import { copyPieces } from '../profiler/index.js';
import { crossingTypes, nodeRange, profiledCuts, tensorSpecs } from './tensors.js';

/** DeployedModel is a model of the plan: its profile, and its graph as profiled (dimensions bound, batch symbolic). */
export interface DeployedModel {
  readonly profile: Profile;
  readonly graph: OnnxModel;
  /** The folder of the model's external data. */
  readonly folder: string;
}

/** Smaller pieces of a file are written together. */
const LEAST_WRITTEN_BYTES = 1 << 20;

/** Place is where a model or a partition is written: a file of the bundle's folder. */
export interface Place {
  readonly folder: string;
  readonly file: string;
  readonly signal: AbortSignal | undefined;
}

/** ModelFile is an ONNX file of a bundle, with the tensors that it takes and gives as they are sent. */
export interface ModelFile {
  readonly file: string;
  readonly sha256: string;
  readonly data?: BundleFile[];
  readonly inputs: TensorSpec[];
  readonly outputs: TensorSpec[];
}

/**
 * writeBlocks writes blocks [from, to) of a model as an ONNX file, with its external data beside it.
 * @returns the file as manifests have it, and its size in bytes with the external data
 */
export async function writeBlocks(
  place: Place,
  { profile, graph, folder: dataFolder }: DeployedModel,
  range: { readonly from: number; readonly to: number },
): Promise<{ readonly written: ModelFile; readonly size: number }> {
  const { folder, file } = place;
  const extracted = extractPieces(graph, {
    ...nodeRange(profile, graph, range),
    types: crossingTypes(profile),
    boundary: profile.boundary ?? 'exact',
    cuts: profiledCuts(profile),
    dataFile: `${basename(file)}.data`,
  });
  await writeFile(join(folder, file), inLargePieces(extracted.pieces, place.signal));
  const model = await describeFile(place, file);
  const data = await writeData(place, extracted, dataFolder);
  const described: ModelFile = {
    file,
    sha256: model.sha256,
    ...(data ? { data: [{ path: data.path, sha256: data.sha256 }] } : {}),
    inputs: tensorSpecs(profile, extracted.inputs),
    outputs: tensorSpecs(
      profile,
      extracted.outputs.filter((name) => !isNoTensor(profile, graph, name)),
    ),
  };
  return { written: described, size: model.size + (data?.size ?? 0) };
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

/** describeFile describes a file of the bundle that has been written. */
async function describeFile({ folder, signal }: Place, path: string): Promise<WrittenFile> {
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
  return await describeFile(place, path);
}
