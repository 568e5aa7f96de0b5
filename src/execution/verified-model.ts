import { createHash } from 'node:crypto';
import { constants, copyFileSync, createReadStream, mkdirSync, readFileSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** FileDigest is a file and the SHA-256 that its bytes must have, in hex. */
export interface FileDigest {
  readonly path: string;
  readonly sha256: string;
}

/** ModelDigests is what the files of a model must be: the ONNX file, and those of its external data. */
export interface ModelDigests {
  readonly sha256: string;
  /** The files of external data, by paths that lie below the ONNX file's folder. */
  readonly data: readonly FileDigest[];
}

/** absoluteDigests gives the same digests for a process that may have another working folder. */
export function absoluteDigests({ sha256, data }: ModelDigests): ModelDigests {
  return { sha256, data: data.map((file) => ({ ...file, path: resolve(file.path) })) };
}

/** VerifiedModel is a model in memory whose bytes have their digest, with the folder of its external data. */
export interface VerifiedModel {
  readonly bytes: Uint8Array;
  readonly dataFolder: string;
}

/** A model without external data that names some all the same must not find it in the folder of the process. */
const NO_FOLDER = '/dev/null/no-external-data';

/** ChangedFilesError reports files of a model that cannot be read or are not what their digests say. */
export class ChangedFilesError extends Error {}

/**
 * verifiedModel gives the very bytes that were hashed. External data is copied to `folder`, to which nobody else writes,
 * and the copy is hashed, as ONNX Runtime maps these files and a later write to them would change what a loaded model
 * computes. The copy takes no room on file systems that can share blocks.
 * @param folder is needed where there is external data
 * @throws ChangedFilesError with every file that cannot be read or is not what its digest says, and both digests
 */
export async function verifiedModel(
  path: string,
  { sha256, data }: ModelDigests,
  folder: string = NO_FOLDER,
): Promise<VerifiedModel> {
  const faults: string[] = [];
  const bytes = readable(path, faults, () => readFileSync(path));
  if (bytes !== undefined)
    compareDigest({ path, sha256 }, createHash('sha256').update(bytes).digest('hex'), faults);
  for (const file of data) await copyVerified(file, { from: dirname(path), to: folder }, faults);
  if (bytes === undefined || faults.length > 0) throw new ChangedFilesError(faults.join('; '));
  return { bytes, dataFolder: folder };
}

async function copyVerified(
  file: FileDigest,
  { from, to }: { readonly from: string; readonly to: string },
  faults: string[],
): Promise<void> {
  const way = wayBelow(from, file.path, faults);
  if (way === undefined) return;
  const copy = join(to, way);
  const copied = readable(file.path, faults, () => {
    mkdirSync(dirname(copy), { recursive: true });
    copyFileSync(file.path, copy, constants.COPYFILE_FICLONE);
    return copy;
  });
  if (copied === undefined) return;
  const hash = createHash('sha256');
  await pipeline(createReadStream(copied), hash);
  compareDigest(file, hash.digest('hex'), faults);
}

/** wayBelow gives the way from a model's folder to a file below it. */
export function wayBelow(folder: string, path: string, faults: string[]): string | undefined {
  const way = relative(folder, path);
  if (!(way.startsWith('..') || isAbsolute(way))) return way;
  faults.push(`${path} lies outside the folder of its model`);
  return undefined;
}

/** compareDigest tells a file whose digest is not the one that it must have. */
export function compareDigest({ path, sha256 }: FileDigest, found: string, faults: string[]): void {
  if (found !== sha256) faults.push(`${path} ${notDeployed(found, sha256)}`);
}

/** notDeployed says that a file of a bundle is another one than its manifest names. */
export function notDeployed(found: string, wanted: string): string {
  return `is not the file that was deployed: its sha256 is ${found}, the manifest says ${wanted}`;
}

function readable<T>(path: string, faults: string[], read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    faults.push(unreadableFile(path, error));
    return undefined;
  }
}

/** unreadableFile says why a file cannot be read. */
export function unreadableFile(path: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' ? `${path} is missing` : `${path} cannot be read: ${message}`;
}
