import { resolve } from 'node:path';
import { sha256OfFile } from './digest.js';
import { type Loaded, loadArtifact } from './load.js';
import type { ArtifactKind } from './schemas.js';

/**
 * FilesRead keeps the files that were read, so that what needs them again does not read, check and hash them again. It
 * takes no notice of files that change meanwhile.
 */
export class FilesRead {
  private readonly files = new Map<string, Loaded<ArtifactKind>>();

  constructor(read: readonly Loaded<ArtifactKind>[] = []) {
    for (const file of read) this.files.set(resolve(file.path), file);
  }

  /**
   * load gives a file as `loadArtifact` does. One that was read before is under the path that is asked for now.
   * @throws InputError and MissingError as `loadArtifact` does
   */
  async load<K extends ArtifactKind>(path: string, kinds: readonly K[]): Promise<Loaded<K>> {
    const known = this.files.get(resolve(path));
    if (known !== undefined && (kinds as readonly ArtifactKind[]).includes(known.kind))
      return { ...known, path } as Loaded<K>;
    const loaded = await loadArtifact(path, kinds);
    this.files.set(resolve(path), loaded as Loaded<ArtifactKind>);
    return loaded;
  }

  /**
   * digestOf gives the SHA-256 of a file, in hex: of the bytes that were read, where it was.
   * @throws as `sha256OfFile` does
   */
  async digestOf(path: string): Promise<string> {
    return this.files.get(resolve(path))?.sha256 ?? (await sha256OfFile(path));
  }
}
