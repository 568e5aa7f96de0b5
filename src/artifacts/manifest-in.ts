import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BUNDLE_MANIFEST } from './bundle.js';
import { fault, InputError } from './errors.js';

/**
 * manifestIn gives the path of the manifest where a path leads to the folder of a bundle, and otherwise the path itself.
 * @throws InputError where it leads to another folder
 */
export async function manifestIn(path: string): Promise<string> {
  const found = (at: string) => stat(at).catch(() => undefined);
  if (!(await found(path))?.isDirectory()) return path;
  const manifest = join(path, BUNDLE_MANIFEST);
  if ((await found(manifest)) !== undefined) return manifest;
  throw new InputError(`read ${path}`, [fault(`it is a folder without a ${BUNDLE_MANIFEST}`)]);
}
