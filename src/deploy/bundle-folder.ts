import { readdir } from 'node:fs/promises';
import { join, normalize, relative } from 'node:path';
import { type Bundle, readWhole } from '../artifacts/index.js';

/** othersThanBundle lists the files of a folder that are not those its own manifest names. */
export async function othersThanBundle(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  const ours = new Set(await namedByManifest(join(folder, 'manifest.json')));
  return files.filter((file) => !ours.has(file)).sort();
}

/** namedByManifest lists the files of a bundle, the manifest with them, or nothing where there is no manifest. */
async function namedByManifest(path: string): Promise<string[]> {
  try {
    const { kind, plan, partitions } = JSON.parse((await readWhole(path)).toString('utf8')) as Bundle;
    if (kind !== 'bundle') return [];
    const parts = partitions.flatMap(({ file, data = [] }) => [file, ...data.map((one) => one.path)]);
    return ['manifest.json', plan.path, ...parts].map(normalize);
  } catch {
    return [];
  }
}
