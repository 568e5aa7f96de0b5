import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { ChangedModelError } from './errors.js';
import {
  compareDigest,
  type FileDigest,
  type ModelDigests,
  unreadableFile,
  wayBelow,
} from './verified-model.js';

/** ModelBytes are the bytes of a model's files in memory. They must not be changed. */
export interface ModelBytes {
  /** The path of the ONNX file. */
  readonly path: string;
  readonly bytes: Uint8Array;
  /** The files of external data, by their ways from the ONNX file's folder. */
  readonly data: readonly { readonly location: string; readonly bytes: Uint8Array }[];
}

/** HostCacheOptions says how much is kept, and how files are read. */
export interface HostCacheOptions {
  /** The most bytes of files that are kept. */
  readonly limitBytes: number;
  /** Reads a file whole; by default from disk, at most 2 GiB. */
  readonly read?: (path: string) => Promise<Uint8Array>;
}

/** HostCacheStats counts what a cache holds, and how often it had what was asked for. */
export interface HostCacheStats {
  readonly models: number;
  readonly bytes: number;
  readonly hits: number;
  readonly misses: number;
}

interface Cached {
  readonly model: ModelBytes;
  readonly bytes: number;
  /** The digests that were verified of it. */
  readonly verified: string;
}

/**
 * HostCache keeps the bytes of models that were used last, for loads onto devices. The kept bytes stay within
 * its limit; bytes that are being read or loaded meanwhile come on top. A model that does not fit is read and
 * not kept. Files that change on disk are not read again, but for other digests.
 */
export class HostCache {
  private readonly limitBytes: number;
  private readonly read: (path: string) => Promise<Uint8Array>;
  /** The models by their paths and digests, the one used longest ago first. */
  private readonly cached = new Map<string, Cached>();
  private readonly reading = new Map<string, Promise<ModelBytes>>();
  private bytes = 0;
  private hits = 0;
  private misses = 0;

  constructor({ limitBytes, read = readFile }: HostCacheOptions) {
    this.limitBytes = limitBytes;
    this.read = read;
  }

  get stats(): HostCacheStats {
    return { models: this.cached.size, bytes: this.bytes, hits: this.hits, misses: this.misses };
  }

  /** has says whether a model is kept, with these digests where there are some. */
  has(path: string, digests?: ModelDigests): boolean {
    return this.cached.get(path)?.verified === verifiedText(digests);
  }

  /**
   * get gives a model's bytes, and reads them where they are not kept. The bytes of one model are read once,
   * also where several callers ask for them meanwhile. With `digests`, its files of external data are those
   * that these name, and all have their digests, which takes about 1 s for each 1 to 2 GB when they are read.
   * Without, it has no external data.
   * @throws ChangedModelError with every file that cannot be read or is not what its digest says
   */
  async get(path: string, digests?: ModelDigests): Promise<ModelBytes> {
    const verified = verifiedText(digests);
    const cached = this.cached.get(path);
    if (cached?.verified === verified) {
      this.hits += 1;
      this.cached.delete(path);
      this.cached.set(path, cached);
      return cached.model;
    }
    this.misses += 1;
    const key = `${path}\n${verified}`;
    const reading = this.reading.get(key) ?? this.readModel(path, digests);
    this.reading.set(key, reading);
    try {
      return await reading;
    } finally {
      this.reading.delete(key);
    }
  }

  private async readModel(path: string, digests: ModelDigests | undefined): Promise<ModelBytes> {
    const faults: string[] = [];
    const bytes = await this.readFile({ path, sha256: digests?.sha256 }, faults);
    const data: { location: string; bytes: Uint8Array }[] = [];
    for (const file of digests?.data ?? []) {
      const location = wayBelow(dirname(path), file.path, faults);
      const read = location === undefined ? undefined : await this.readFile(file, faults);
      if (location !== undefined && read !== undefined) data.push({ location, bytes: read });
    }
    const why = faults.join('; ');
    if (bytes === undefined || faults.length > 0)
      throw new ChangedModelError(`Cannot load ${path}: ${why}`, why, true);
    const model = { path, bytes, data };
    this.keep({ model, bytes: bytesOf(model), verified: verifiedText(digests) });
    return model;
  }

  private async readFile(
    { path, sha256 }: { readonly path: string; readonly sha256: string | undefined },
    faults: string[],
  ): Promise<Uint8Array | undefined> {
    try {
      const bytes = await this.read(path);
      if (sha256 !== undefined) compareDigest({ path, sha256 }, await sha256OfBytes(bytes), faults);
      return bytes;
    } catch (error) {
      faults.push(unreadableFile(path, error));
      return undefined;
    }
  }

  private keep(cached: Cached): void {
    this.forget(cached.model.path);
    if (cached.bytes > this.limitBytes) return;
    for (const path of this.cached.keys()) {
      if (this.bytes + cached.bytes <= this.limitBytes) break;
      this.forget(path);
    }
    this.cached.set(cached.model.path, cached);
    this.bytes += cached.bytes;
  }

  private forget(path: string): void {
    this.bytes -= this.cached.get(path)?.bytes ?? 0;
    this.cached.delete(path);
  }
}

function bytesOf({ bytes, data }: ModelBytes): number {
  return data.reduce((sum, file) => sum + file.bytes.byteLength, bytes.byteLength);
}

function verifiedText(digests: ModelDigests | undefined): string {
  if (digests === undefined) return '';
  const text = ({ path, sha256 }: FileDigest) => `${sha256} ${path}`;
  return [digests.sha256, ...digests.data.map(text)].join('\n');
}

/** The event loop turns after each piece of this many bytes: some 10 ms. */
const PIECE_BYTES = 2 ** 24;

async function sha256OfBytes(bytes: Uint8Array): Promise<string> {
  const hash = createHash('sha256');
  for (let from = 0; from < bytes.byteLength; from += PIECE_BYTES) {
    if (from > 0) await setImmediate();
    hash.update(bytes.subarray(from, from + PIECE_BYTES));
  }
  return hash.digest('hex');
}
