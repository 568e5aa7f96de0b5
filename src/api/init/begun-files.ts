import { lstat } from 'node:fs/promises';
import { isYamlPath, type OutputPath } from '../../artifacts/index.js';
import { type Fault, fault, option } from '../../formats/index.js';

/** begunFileFaults refuses outputs that are not named as YAML, and those that exist unless they are to be replaced. */
export async function begunFileFaults(outputs: readonly OutputPath[], force = false): Promise<Fault[]> {
  const existing = force ? [] : (await Promise.all(outputs.map(existsFault))).flat();
  return [...outputs.flatMap(nameFaults), ...existing];
}

/** nameFaults refuses names by which the file would not be read as YAML. */
function nameFaults({ field, path }: OutputPath): Fault[] {
  if (path === '' || isYamlPath(path)) return [];
  return [fault(`${path} would hold YAML; name a file that ends in .yaml or .yml`, option(field))];
}

async function existsFault({ field, path }: OutputPath): Promise<Fault[]> {
  const found = path === '' ? undefined : await lstat(path).catch(() => undefined);
  if (found === undefined) return [];
  return [
    fault(
      `${path} exists already, and its contents would be lost; ${option('force')} replaces it`,
      option(field),
    ),
  ];
}
