import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { BUNDLE_MANIFEST, fault, InputError } from '../formats/index.js';
import { loadArtifact } from './load.js';

/**
 * manifestIn gives the path of the manifest where a path leads to the folder of a bundle, and otherwise the path itself.
 * @throws InputError where it leads to another folder
 */
export async function manifestIn(path: string): Promise<string> {
  const found = (at: string) => stat(at).catch(() => undefined);
  if (!(await found(path))?.isDirectory()) return path;
  const manifest = join(path, BUNDLE_MANIFEST);
  if ((await found(manifest)) !== undefined) return manifest;
  throw new InputError(`read ${path}`, [
    fault(`it is a folder without a ${BUNDLE_MANIFEST}, and so no bundle; name a file`),
  ]);
}

/**
 * ofBundleAdvice tells of a plan that lies in a bundle to give the bundle: what the plan was made from is not beside it
 * there. It is undefined for another file.
 */
export async function ofBundleAdvice(path: string): Promise<string | undefined> {
  const folder = dirname(path);
  const manifest = join(folder, BUNDLE_MANIFEST);
  const found = await loadArtifact(manifest, ['bundle']).catch((error: unknown) => {
    if (error instanceof InputError) return undefined;
    throw error;
  });
  if (found === undefined || resolve(folder, found.value.plan.path) !== resolve(path)) return undefined;
  return `It is the plan of the bundle ${folder}, away from what it was made from: give the bundle, or the plan from which it was deployed.`;
}
