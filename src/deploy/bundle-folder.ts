import { readdir } from 'node:fs/promises';
import { join, normalize, relative } from 'node:path';
import { readWhole, sha256OfFile } from '../artifacts/index.js';
import { BUNDLE_MANIFEST, type Bundle, bundledPartFiles, tooLargeJson } from '../formats/index.js';

/**
 * othersThanBundle lists, by their paths in it, the files of a folder that its bundle's manifest does not name, or
 * names with another digest. Without the manifest of a bundle, these are all files.
 */
export async function othersThanBundle(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  const ours = await namedByManifest(join(folder, BUNDLE_MANIFEST));
  const others = await Promise.all(
    files.map(async (file) => {
      const wanted = ours.get(file);
      if (file === BUNDLE_MANIFEST && ours.size > 0) return [];
      return wanted !== undefined && (await sha256OfFile(join(folder, file))) === wanted ? [] : [file];
    }),
  );
  return others.flat().sort();
}

/** A longer manifest is none of ours. */
const MOST_MANIFEST_BYTES = 64 * 1024 * 1024;

/** namedByManifest gives the digests of a bundle's files by path. It gives none where there is no manifest. */
async function namedByManifest(path: string): Promise<Map<string, string>> {
  try {
    const text = (await readWhole(path, MOST_MANIFEST_BYTES)).toString('utf8');
    if (tooLargeJson(text) !== undefined) return new Map();
    const { kind, plan, files = [], ...parts } = JSON.parse(text) as Bundle;
    if (kind !== 'bundle') return new Map();
    return new Map(
      [plan, ...bundledPartFiles(parts), ...files].map((part) => [normalize(part.path), part.sha256]),
    );
  } catch {
    return new Map();
  }
}
