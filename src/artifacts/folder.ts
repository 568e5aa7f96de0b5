import { lstat, mkdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { errorFields, fault, InputError } from '../formats/index.js';
import { exists, removeLeftovers, replacedBeside, temporaryBeside } from './leftovers.js';
import { beforeOutput, refuseReplacingAround } from './run-files.js';
import { unwritable } from './save.js';

/** OthersIn lists the entries of a folder that this program did not write there before. */
export type OthersIn = (folder: string) => Promise<readonly string[]>;

const MOST_SHOWN = 5;

/**
 * makeFolderWhole makes a folder whole or not at all: `fill` writes into a temporary folder beside it, which then takes
 * its place. An existing folder is replaced only where `othersIn` finds nothing in it; behind a link, the folder that
 * the link leads to is replaced. Leftovers of a killed process beside it are removed first.
 * @throws InputError where the folder holds other files or one that was read in this run, is a file or a link that
 *   leads nowhere, or its parent is missing or cannot be written; the disk's own error where it is full; what `fill`
 *   throws. The earlier folder is then as it was.
 */
export async function makeFolderWhole(
  target: string,
  othersIn: OthersIn,
  fill: (folder: string) => Promise<void>,
): Promise<void> {
  const path = await realpath(target).catch(() => resolve(target));
  await removeLeftovers(path);
  await checkFolder(target, othersIn);
  await refuseReplacingAround(path);
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

async function isLink(path: string): Promise<boolean> {
  return await lstat(path).then(
    (found) => found.isSymbolicLink(),
    () => false,
  );
}

function isDiskFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(errorFields(error).code ?? '');
}

/**
 * checkFolder checks whether `makeFolderWhole` would make the folder, before long work whose result goes there. It does
 * not look at permissions or free space.
 * @throws InputError where the folder holds other files, is a file or a link that leads nowhere, or has no parent
 */
export async function checkFolder(target: string, othersIn: OthersIn): Promise<void> {
  const path = resolve(target);
  const task = `write ${target}`;
  if (!(await exists(dirname(path))))
    throw new InputError(task, [fault(`there is no folder ${dirname(target)}`)]);
  if (!(await exists(path))) {
    if (await isLink(path)) throw new InputError(task, [fault('it is a link that leads nowhere')]);
    return;
  }
  if (!(await stat(path)).isDirectory()) throw new InputError(task, [fault('it is a file')]);
  const others = await beforeOutput(() => othersIn(path));
  if (others.length === 0) return;
  throw new InputError(
    task,
    [fault(`the folder holds other files: ${shownNames(others)}`)],
    'Name a new folder, or empty this one.',
  );
}

/** shownNames names the first few of some files, and how many more there are. */
function shownNames(names: readonly string[]): string {
  const more = names.length - MOST_SHOWN;
  return more > 0 ? `${names.slice(0, MOST_SHOWN).join(', ')} and ${more} more` : names.join(', ');
}
