import { realpath, stat } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { errorFields } from '../formats/index.js';
import { kindOf, wordsOf } from './read-file.js';

/** PartFault describes a fault of a file that another file names. */
export interface PartFault {
  readonly isMissing: boolean;
  readonly message: string;
}

/**
 * partFault looks at a file that another file names, such as a partition of a bundle or a model's external
 * data. Such a file must lie in the folder of the one that names it, links included: a bundle or a model that
 * came from elsewhere may not name other files of the machine.
 * A missing file is a fault too (`isMissing`), and so is an absolute path, even one that leads into the folder.
 * @param path the file, from `folder`
 * @returns what is wrong with it, or undefined where it is a plain file in the folder
 */
export async function partFault(folder: string, path: string): Promise<PartFault | undefined> {
  if (path.includes('\0')) return unusable(wordsOf('ERR_INVALID_ARG_VALUE') as string);
  const file = resolve(folder, path);
  if (isAbsolute(path) || isOutside(folder, file)) return unusable('it lies outside the folder');
  try {
    const found = await stat(file);
    if (!found.isFile()) return unusable(`it is ${kindOf(found)}, not a file`);
    if (isOutside(await realpath(folder), await realpath(file)))
      return unusable('it is a link that leads outside the folder');
    return undefined;
  } catch (error) {
    const { code } = errorFields(error);
    if (code === undefined) throw error;
    if (code === 'ENOENT') return { isMissing: true, message: 'there is no such file' };
    return unusable(wordsOf(code) ?? `it cannot be read: ${code}`);
  }
}

function unusable(message: string): PartFault {
  return { isMissing: false, message };
}

function isOutside(folder: string, file: string): boolean {
  const way = relative(folder, file);
  return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way);
}
