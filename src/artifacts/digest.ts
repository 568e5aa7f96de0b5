import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import type { DataFile } from './profile.js';
import { checkPlainFile } from './read-file.js';

/** SHA-256 of bytes or text, in hex. */
export function sha256Of(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** SHA-256 of a file of any size, in hex; reads it in pieces, until the signal says otherwise. */
export async function sha256OfFile(path: string, signal?: AbortSignal): Promise<string> {
  await checkPlainFile(path);
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash, signal === undefined ? {} : { signal });
  return hash.digest('hex');
}

/** Whether external data has the digests that a profile gives; one that gives none is of a model without. */
export function sameData(given: readonly DataFile[] | undefined, found: readonly DataFile[]): boolean {
  const text = (files: readonly DataFile[]) =>
    JSON.stringify(files.map(({ path, sha256 }) => [path, sha256]));
  return text(given ?? []) === text(found);
}
