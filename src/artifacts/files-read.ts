import { resolve } from 'node:path';
import type { ArtifactKind, Loaded } from '../formats/index.js';
import { sha256OfFile } from './file-digest.js';
import { loadArtifact } from './load.js';

/**
 * FilesRead keeps the files that were read, so that what needs them again does not read, check and hash them again. It
 * takes no notice of files that change meanwhile.
 */
export class FilesRead {
  private readonly files = new Map<string, Loaded<ArtifactKind>>();
  /** Files that are being read, by how they are asked for, which their errors tell. */
  private readonly reading = new Map<string, Promise<Loaded<ArtifactKind>>>();
  private readonly digests = new Map<string, Promise<string>>();

  constructor(read: readonly Loaded<ArtifactKind>[] = []) {
    for (const file of read) this.files.set(resolve(file.path), file);
  }

  /**
   * load gives a file as `loadArtifact` does. A file that was read before, or that others are waiting for, is
   * read once, and is under the path that is asked for now.
   * @throws InputError and MissingError as `loadArtifact` does
   */
  async load<K extends ArtifactKind>(path: string, kinds: readonly K[]): Promise<Loaded<K>> {
    const known = this.files.get(resolve(path));
    if (known !== undefined && (kinds as readonly ArtifactKind[]).includes(known.kind))
      return { ...known, path } as Loaded<K>;
    const asked = JSON.stringify([path, ...kinds]);
    const reading = this.reading.get(asked) ?? this.read(path, kinds, asked);
    return (await reading) as Loaded<K>;
  }

  private read(path: string, kinds: readonly ArtifactKind[], asked: string): Promise<Loaded<ArtifactKind>> {
    const reading = loadArtifact(path, kinds)
      .then((loaded) => {
        this.files.set(resolve(path), loaded);
        return loaded;
      })
      .finally(() => this.reading.delete(asked));
    this.reading.set(asked, reading);
    return reading;
  }

  /**
   * digestOf gives the SHA-256 of a file, in hex: of the bytes that were read, where it was. It reads no file twice.
   * @throws as `sha256OfFile` does
   */
  async digestOf(path: string): Promise<string> {
    const at = resolve(path);
    const known = this.files.get(at)?.sha256 ?? this.digests.get(at);
    if (known !== undefined) return known;
    const digest = sha256OfFile(path);
    this.digests.set(at, digest);
    return digest;
  }
}
