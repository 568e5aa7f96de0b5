import { type FileHandle, open, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { partFault, sha256OfFile, unreadable, withTemporaryFolder } from '../artifacts/index.js';
import { type DataFile, type Fault, fault, InputError, MissingError } from '../formats/index.js';
import {
  type ExternalCopy,
  externalLocations,
  extractPartition,
  type OnnxModel,
  readModel,
  withoutWeights,
} from '../onnx/index.js';

/** Source says where a model's external tensors lie, and where in one data file they go. */
export interface Source {
  readonly folder: string;
  readonly external: readonly ExternalCopy[];
}

/** Every temporary model finds its external tensors under this name. */
const DATA_FILE = 'model.data';
/** A light model finds its weights under this name. */
const WEIGHTS_FILE = 'weights.data';
const COPY_BYTES = 8 * 1024 * 1024;

/** withScratch gives `use` a temporary folder, which is removed afterwards, also when `use` fails. */
export function withScratch<T>(use: (folder: string) => Promise<T>): Promise<T> {
  return withTemporaryFolder('profile', use);
}

/**
 * gathered gives the same model with all its external tensors in one data file, which `writeData` fills. So every model
 * that is made from it can lie in one folder with that file.
 */
export function gathered(model: OnnxModel, path: string): { model: OnnxModel; source: Source } {
  if (externalLocations(model).length === 0)
    return { model, source: { folder: dirname(resolve(path)), external: [] } };
  const whole = { from: 0, to: model.graph.nodes.length, types: new Map(), dataFile: DATA_FILE };
  const { bytes, external } = extractPartition(model, whole);
  const source = { folder: dirname(resolve(path)), external };
  return { model: readModel(bytes, { name: model.name }), source };
}

/**
 * lightened gives the same model with its large weights in a file of `folder`, which is replaced. Models that are made
 * of it to be run in that folder are small.
 */
export async function lightened(model: OnnxModel, folder: string): Promise<OnnxModel> {
  const { bytes, weights } = withoutWeights(model, WEIGHTS_FILE);
  if (weights.length === 0) return model;
  const file = await open(join(folder, WEIGHTS_FILE), 'w');
  try {
    for (const { offset, bytes } of weights) await writeAt(file, bytes, offset);
  } finally {
    await file.close();
  }
  return readModel(bytes, { name: model.name });
}

async function writeAt(file: FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, offset + done);
    done += bytesWritten;
  }
}

/**
 * writeData writes the external tensors of a model to `model.data` in `folder`, which the models in that folder share.
 * A file of that name is replaced. It writes nothing where the model has no external tensors.
 * @throws MissingError when files are only missing; InputError when one cannot be used, lies outside of the source's
 *   folder or ends too soon
 */
export async function writeData(folder: string, { folder: from, external }: Source): Promise<void> {
  await copyPieces(external, { fromFolder: from, toFile: join(folder, DATA_FILE) });
}

/**
 * dataFilesOf lists the files that hold a model's external tensors, sorted by name, with digests. It reads them whole.
 * @throws MissingError with every file when files are only missing; InputError when one cannot be used or lies outside
 *   of the model's folder
 */
export async function dataFilesOf({ folder, external }: Source): Promise<DataFile[]> {
  const locations = [...new Set(external.map(({ location }) => location))].sort();
  await checkParts(folder, locations);
  return await Promise.all(
    locations.map(async (path) => ({ path, sha256: await sha256OfFile(resolve(folder, path)) })),
  );
}

/**
 * externalFaults lists the files of a model's external tensors that are missing, outside of the folder of `path` (the
 * model's file), or too short. It reads none of them, and the list is empty where nothing is wrong.
 */
export async function externalFaults(model: OnnxModel, path: string): Promise<Fault[]> {
  const { folder, external } = gathered(model, path).source;
  const ends = new Map<string, number>();
  for (const { location, offset, length } of external)
    ends.set(location, Math.max(ends.get(location) ?? 0, offset + length));
  const faults = await Promise.all(
    [...ends].map(async ([location, end]) => {
      const wrong = await partFault(folder, location);
      if (wrong !== undefined) return fault(wrong.message, location);
      const { size } = await stat(resolve(folder, location));
      return size >= end ? undefined : fault(`it has ${size} bytes, and the model needs ${end}`, location);
    }),
  );
  return faults.filter((found) => found !== undefined);
}

/**
 * checkParts looks at each file of external data once, before anything is read of it.
 * @throws MissingError where files are only missing; InputError where one cannot be used or lies outside the folder
 */
async function checkParts(folder: string, locations: readonly string[]): Promise<void> {
  const found = await Promise.all(
    locations.map(async (path) => ({ path, wrong: await partFault(folder, path) })),
  );
  const faults = found.flatMap(({ path, wrong }) => (wrong === undefined ? [] : [{ ...wrong, path }]));
  if (faults.length === 0) return;
  const task = `read the external data in ${folder}`;
  const told = faults.map(({ path, message }) => fault(message, path));
  throw faults.every(({ isMissing }) => isMissing)
    ? new MissingError(task, told)
    : new InputError(task, told);
}

/** CopyWay says from where to where external data is copied, and which signal stops it. */
interface CopyWay {
  readonly fromFolder: string;
  readonly toFile: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * copyPieces copies pieces of external data into `way.toFile`, which is replaced, each to its `toOffset`. It copies
 * 8 MiB at a time, so that no piece is held whole. It writes nothing where there are no pieces. A file that ends too
 * soon is only found on the way, so that an unfinished file is left behind then, and on abort.
 * @throws MissingError when files are only missing; InputError when one cannot be used, lies outside of
 *   `way.fromFolder` or ends too soon; the signal's reason on abort
 */
export async function copyPieces(pieces: readonly ExternalCopy[], way: CopyWay): Promise<void> {
  if (pieces.length === 0) return;
  await checkParts(way.fromFolder, [...new Set(pieces.map(({ location }) => location))]);
  const target = await open(way.toFile, 'w');
  try {
    for (const piece of pieces) await copyPiece(target, piece, way);
  } finally {
    await target.close();
  }
}

async function copyPiece(
  target: FileHandle,
  copy: ExternalCopy,
  { fromFolder: folder, signal }: CopyWay,
): Promise<void> {
  const path = resolve(folder, copy.location);
  const file = await open(path).catch((error: unknown) => {
    throw unreadable(path, error);
  });
  try {
    const buffer = Buffer.allocUnsafe(Math.min(COPY_BYTES, copy.length));
    for (let done = 0; done < copy.length; ) {
      signal?.throwIfAborted();
      const want = Math.min(buffer.length, copy.length - done);
      const { bytesRead } = await file.read(buffer, 0, want, copy.offset + done);
      if (bytesRead === 0) throw shortFile(path, copy);
      await target.write(buffer, 0, bytesRead, copy.toOffset + done);
      done += bytesRead;
    }
  } finally {
    await file.close();
  }
}

function shortFile(path: string, copy: ExternalCopy): InputError {
  const message = `it ends before the ${copy.length} bytes from ${copy.offset} on that the model needs`;
  return new InputError(`read external data ${path}`, [fault(message)]);
}

/** writeModel writes a model as `<name>.onnx` in a folder; a file of that name is replaced. @returns its path */
export async function writeModel(folder: string, name: string, bytes: Uint8Array): Promise<string> {
  const path = join(folder, `${name}.onnx`);
  await writeFile(path, bytes);
  return path;
}
