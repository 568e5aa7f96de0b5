import { dirname, relative, resolve, sep } from 'node:path';
import type { InputFile } from './common.js';

/** A file an artifact is made from, by a path that resolves against the folder of the file that will hold it. */
export function inputFile(
  role: string,
  file: { readonly path: string; readonly sha256: string },
  holder: string | undefined,
): InputFile {
  return { role, path: relativePath(file.path, holder), sha256: file.sha256 };
}

/** `path` as written in a file at `holder` (in the working folder where there is none yet), with forward slashes. */
export function relativePath(path: string, holder: string | undefined): string {
  const folder = holder === undefined ? process.cwd() : dirname(resolve(holder));
  return relative(folder, resolve(path)).split(sep).join('/');
}

/** A path that a file at `holder` names. */
export function pathFrom(holder: string, path: string): string {
  return relative(process.cwd(), resolve(dirname(holder), path)) || '.';
}
