import { createHash } from 'node:crypto';
import type { DataFile } from './profile.js';

/** sha256Of gives the SHA-256 of bytes or text, in hex. */
export function sha256Of(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/**
 * sameData says whether the external data `found` has the paths and digests `given` by a profile, in the same order.
 * undefined counts as none: a profile without digests is of a model without data.
 */
export function sameData(given: readonly DataFile[] | undefined, found: readonly DataFile[]): boolean {
  const text = (files: readonly DataFile[]) =>
    JSON.stringify(files.map(({ path, sha256 }) => [path, sha256]));
  return text(given ?? []) === text(found);
}
