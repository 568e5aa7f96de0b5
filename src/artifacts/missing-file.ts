import { opendirSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { didYouMean, fault, MissingError } from '../formats/index.js';

/** Of a folder of more names, only so many are compared. */
const MOST_NAMES = 1000;

/**
 * missingFile reports that a file is not there, with a file of the same folder that was probably meant, or else with the
 * folder where it was looked for.
 */
export function missingFile(path: string): MissingError {
  const task = `read ${path}`;
  const folder = resolve(dirname(path));
  const names = namesIn(folder);
  if (names === undefined)
    return new MissingError(task, [fault('there is no such file')], `There is no folder ${folder}.`);
  const near = nearName(basename(path), names);
  if (near !== '') return new MissingError(task, [fault(`there is no such file${near}`)]);
  return new MissingError(task, [fault('there is no such file')], `Check the path; the folder is ${folder}.`);
}

/**
 * nearName names a file that was probably meant. A letter in three of the name up to its first dot may be wrong, since endings
 * make names seem alike.
 */
function nearName(name: string, names: readonly string[]): string {
  const most = Math.floor((name.split('.')[0] as string).length / 3);
  return didYouMean(
    name,
    names.filter(
      (one) => one !== name && (one.startsWith(name) || Math.abs(one.length - name.length) <= most),
    ),
    most,
  );
}

/** namesIn lists the first names in a folder in their order; undefined where there is no such folder. */
function namesIn(folder: string): string[] | undefined {
  try {
    const open = opendirSync(folder);
    const names: string[] = [];
    try {
      for (let entry = open.readSync(); entry !== null && names.length < MOST_NAMES; entry = open.readSync())
        names.push(entry.name);
    } finally {
      open.closeSync();
    }
    return names.sort();
  } catch (error) {
    // A folder that may not be listed is there.
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : [];
  }
}
