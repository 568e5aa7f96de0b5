import { dirname, join, relative, resolve, sep } from 'node:path';
import type { InputFile, Loaded } from '../formats/index.js';
import type { InputPath } from './outputs.js';

/** inputFile names a file that an artifact is made from, relative to the folder of the file that will hold the name. */
export function inputFile(
  role: string,
  file: { readonly path: string; readonly sha256: string },
  holder: string | undefined,
): InputFile {
  return { role, path: relativePath(file.path, holder), sha256: file.sha256 };
}

/**
 * relativePath writes `path` relative to the file at `holder` (without one, the working folder), with forward
 * slashes.
 */
export function relativePath(path: string, holder: string | undefined): string {
  const folder = holder === undefined ? process.cwd() : dirname(resolve(holder));
  return relative(folder, resolve(path)).split(sep).join('/');
}

/** pathFrom gives a path that a file at `holder` names, relative to the working folder. */
export function pathFrom(holder: string, path: string): string {
  return relative(process.cwd(), resolve(dirname(holder), path)) || '.';
}

/** externalInputs lists the files with the external data of the model at `path`; `locations` are relative to it. */
export function externalInputs(path: string, locations: readonly string[]): InputPath[] {
  return locations.map((location) => ({
    what: 'external data of the model',
    path: join(dirname(path), location),
  }));
}

/** profileInputs lists a profile and the model files that it names: an output may replace none of them. */
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
