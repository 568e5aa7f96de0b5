import { dirname, join, relative, resolve, sep } from 'node:path';
import type { InputFile } from './common.js';
import type { Loaded } from './load.js';
import type { InputPath } from './outputs.js';

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

/** The files that hold the external data of the model at `path`, by their paths from its folder. */
export function externalInputs(path: string, locations: readonly string[]): InputPath[] {
  return locations.map((location) => ({
    what: 'external data of the model',
    path: join(dirname(path), location),
  }));
}

/** A profile, and the files of the model that it names, which an output may not replace either. */
export function profileInputs(
  { value: { model }, path }: Loaded<'profile'>,
  what = 'the profile',
): InputPath[] {
  const read = { what, path };
  if (model.file === undefined) return [read];
  const file = pathFrom(path, model.file);
  const data = externalInputs(
    file,
    (model.data ?? []).map((one) => one.path),
  );
  return [read, { what: `the model of the profile ${path}`, path: file }, ...data];
}
