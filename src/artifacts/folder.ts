import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fault, InputError } from './errors.js';
import { exists, removeLeftovers, replacedBeside, temporaryBeside } from './leftovers.js';
import { unwritable } from './save.js';

/** Whether a folder holds nothing but what this program wrote there before. */
export type IsOurs = (folder: string) => Promise<boolean>;

/**
 * Makes a folder whole or not at all: `fill` writes into a temporary folder beside it, which then takes its place.
 * A folder that is there already is replaced only when it is empty or `isOurs` says so. What a killed process left beside
 * it is removed first.
 * @throws InputError where the folder is somebody else's, or its parent is missing
 */
export async function makeFolderWhole(
  target: string,
  isOurs: IsOurs,
  fill: (folder: string) => Promise<void>,
): Promise<void> {
  const path = resolve(target);
  await removeLeftovers(path);
  await checkFolder(target, isOurs);
  const temporary = temporaryBeside(path);
  const old = replacedBeside(path);
  try {
    await rm(temporary, { recursive: true, force: true });
    await mkdir(temporary).catch((error: unknown) => {
      throw unwritable(target, error);
    });
    await fill(temporary);
    if (await exists(path)) await rename(path, old);
    await rename(temporary, path);
    await rm(old, { recursive: true, force: true });
  } catch (error) {
    throw isDiskFull(error) ? unwritable(target, error) : error;
  } finally {
    await rm(temporary, { recursive: true, force: true });
    if (!(await exists(path)) && (await exists(old))) await rename(old, path);
  }
}

function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/**
 * Whether `makeFolderWhole` would make the folder, asked before long work whose result goes there.
 * @throws InputError where it would not
 */
export async function checkFolder(target: string, isOurs: IsOurs): Promise<void> {
  const path = resolve(target);
  const task = `write ${target}`;
  if (!(await exists(dirname(path))))
    throw new InputError(task, [fault(`there is no folder ${dirname(target)}`)]);
  if (!(await exists(path))) return;
  if (!(await stat(path)).isDirectory()) throw new InputError(task, [fault('it is a file')]);
  if ((await readdir(path)).length === 0 || (await isOurs(path))) return;
  throw new InputError(
    task,
    [fault('the folder holds other files')],
    'Name a new folder, or empty this one.',
  );
}

/** Whether a folder holds a manifest of the given kind. */
export async function holdsManifest(folder: string, kind: string): Promise<boolean> {
  try {
    const manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as { kind?: unknown };
    return manifest.kind === kind;
  } catch {
    return false;
  }
}
