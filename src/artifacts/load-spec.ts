import type { Buffer } from 'node:buffer';
import { type ArtifactKind, type InputFile, type Loaded, sha256Of } from '../formats/index.js';
import { inputFile } from './input-paths.js';
import { loadArtifact, MOST_BYTES, parseArtifact } from './load.js';
import { readWhole } from './read-file.js';
import { noteNamed } from './run-files.js';
import { isStdin, STDIN_SPEC, stdinBytes } from './stdin.js';
import { decodedText } from './text.js';

/**
 * loadSpec reads and validates a spec, as `loadArtifact` does, or where the path is `-` from stdin: as YAML, of which JSON
 * is a part, with the paths in it relative to the working folder.
 * @throws as `loadArtifact` does
 */
export async function loadSpec<K extends ArtifactKind>(
  path: string,
  kinds: readonly K[],
): Promise<Loaded<K>> {
  if (!isStdin(path)) return loadArtifact(path, kinds);
  const bytes = await stdinBytes(MOST_BYTES);
  const { kind, value } = parseArtifact(decodedText(bytes, STDIN_SPEC), STDIN_SPEC, kinds);
  await noteNamed(STDIN_SPEC, value);
  return { kind, value, path: STDIN_SPEC, sha256: sha256Of(bytes) } as Loaded<K>;
}

/** specBytes gives the bytes of a spec. @throws as `loadSpec` does where they cannot be read */
export function specBytes(path: string): Promise<Buffer> {
  return isStdin(path) ? stdinBytes(MOST_BYTES) : readWhole(path);
}

/**
 * specInputs names the spec that an artifact is made from. A spec on stdin is no file, so that nothing names
 * it.
 */
export function specInputs(
  spec: { readonly path: string; readonly sha256: string },
  holder: string | undefined,
): InputFile[] {
  return isStdin(spec.path) ? [] : [inputFile('spec', spec, holder)];
}
