import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fault, InputError } from './errors.js';
import { exists, removeLeftovers, replacedBeside, temporaryBeside } from './leftovers.js';
import { unwritable } from './save.js';

/** IsOurs says whether a folder holds nothing but what this program wrote there before. */
export type IsOurs = (folder: string) => Promise<boolean>;

/**
 * makeFolderWhole makes a folder whole or not at all: `fill` writes into a temporary folder beside it, which then takes
 * its place. An existing folder is replaced only when it is empty or `isOurs` allows it. Leftovers of a killed process
 * beside it are removed first.
 * @throws InputError where the folder holds other files, or its parent is missing
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
 * checkFolder asks whether `makeFolderWhole` would make the folder, before long work whose result goes there.
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

/** holdsManifest says whether a folder holds a manifest of the given kind. */
export async function holdsManifest(folder: string, kind: string): Promise<boolean> {
  try {
    const manifest = JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')) as { kind?: unknown };
    return manifest.kind === kind;
  } catch {
    return false;
  }
}
