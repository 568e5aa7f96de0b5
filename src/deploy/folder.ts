import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { fault, InputError } from '../artifacts/index.js';

/**
 * Makes a folder whole or not at all: `fill` writes into a temporary folder beside it, which then takes its place.
 * A folder that is there already is replaced only when it is empty or `isOurs` says so.
 * @throws InputError where the folder is somebody else's, or its parent is missing
 */
export async function makeFolderWhole(
  target: string,
  isOurs: (folder: string) => Promise<boolean>,
  fill: (folder: string) => Promise<void>,
): Promise<void> {
  const path = resolve(target);
  await refuseOthers(target, path, isOurs);
  const temporary = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`);
  const old = join(dirname(path), `.${basename(path)}.${process.pid}.old`);
  try {
    await rm(temporary, { recursive: true, force: true });
    await mkdir(temporary);
    await fill(temporary);
    if (await exists(path)) await rename(path, old);
    await rename(temporary, path);
    await rm(old, { recursive: true, force: true });
  } finally {
    await rm(temporary, { recursive: true, force: true });
    if (!(await exists(path)) && (await exists(old))) await rename(old, path);
  }
}

async function refuseOthers(
  target: string,
  path: string,
  isOurs: (folder: string) => Promise<boolean>,
): Promise<void> {
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

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
