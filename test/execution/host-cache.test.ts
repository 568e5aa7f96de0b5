import { describe, expect, it } from 'vitest';
import { ChangedModelError, HostCache } from '../../src/execution/index.js';
import { sha256Of } from '../../src/formats/index.js';
import { streamOf } from '../../src/random/index.js';
import { inWholeRun } from '../cases.js';

/** Files are bytes by path; `reads` tells which were read. */
function files(bytes: Record<string, Uint8Array>) {
  const reads: string[] = [];
  const read = async (path: string): Promise<Uint8Array> => {
    reads.push(path);
    const found = bytes[path];
    if (found === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
    return found;
  };
  return { reads, read };
}

const filled = (count: number, value = 1) => new Uint8Array(count).fill(value);

describe('HostCache', () => {
  it('keeps the models that were used last within its limit, and reads the others again', async () => {
    const sizes: Record<string, number> = { a: 40, b: 35, c: 25, d: 60, e: 101, f: 100 };
    const { reads, read } = files(
      Object.fromEntries(Object.entries(sizes).map(([path, size]) => [path, filled(size)])),
    );
    const cache = new HostCache({ limitBytes: 100, read });
    const { uniform } = streamOf(1, 'inputs');
    let kept: string[] = [];
    for (let i = 0; i < 500; i++) {
      const path = 'abcdef'[Math.floor(uniform() * 6)]!;
      const isHit = kept.includes(path);
      expect(cache.has(path)).toBe(isHit);
      reads.length = 0;
      expect((await cache.get(path)).bytes.byteLength).toBe(sizes[path]);
      expect(reads).toEqual(isHit ? [] : [path]);
      // A list with the last one in front is cut where it is full, unless the model does not fit at all.
      const total = (list: string[]) => list.reduce((sum, one) => sum + sizes[one]!, 0);
      if (isHit || sizes[path]! <= 100) kept = [path, ...kept.filter((one) => one !== path)];
      while (total(kept) > 100) kept.pop();
      expect(cache.stats).toMatchObject({ models: kept.length, bytes: total(kept) });
    }
    const { hits, misses } = cache.stats;
    expect(hits + misses).toBe(500);
  });

  it('reads a model once that several ask for meanwhile, and once more after a failure', async () => {
    const bytes: Record<string, Uint8Array> = {};
    const { reads, read } = files(bytes);
    const cache = new HostCache({ limitBytes: 100, read });
    await expect(cache.get('m')).rejects.toThrow('Cannot load m: m is missing');
    bytes.m = filled(3);
    const [one, two] = await Promise.all([cache.get('m'), cache.get('m')]);
    expect(one).toBe(two);
    expect(reads).toEqual(['m', 'm']);
  });

  it('verifies a model and its external data when it reads them, counts both, and gives data by its way', async () => {
    const [bytes, data] = [filled(30), filled(50, 2)];
    const { reads, read } = files({ 'models/m.onnx': bytes, 'models/data/m.bin': data });
    const cache = new HostCache({ limitBytes: 100, read });
    const digests = {
      sha256: sha256Of(bytes),
      data: [{ path: 'models/data/m.bin', sha256: sha256Of(data) }],
    };
    const model = await cache.get('models/m.onnx', digests);
    expect(model.data).toEqual([{ location: 'data/m.bin', bytes: data }]);
    expect(cache.stats.bytes).toBe(80);
    expect(await cache.get('models/m.onnx', digests)).toBe(model);
    expect(reads).toHaveLength(2);
    expect(cache.has('models/m.onnx')).toBe(false);
  });

  it('reports every file that is missing, changed or elsewhere at once, and keeps nothing of such a model', async () => {
    const { read } = files({ 'models/m.onnx': filled(30) });
    const cache = new HostCache({ limitBytes: 100, read });
    const wanted = sha256Of(filled(1));
    const digests = {
      sha256: wanted,
      data: [
        { path: 'models/m.bin', sha256: wanted },
        { path: 'other/m.bin', sha256: wanted },
      ],
    };
    const error = await cache.get('models/m.onnx', digests).catch((one: unknown) => one);
    expect(error).toBeInstanceOf(ChangedModelError);
    expect((error as Error).message).toBe(
      `Cannot load models/m.onnx: models/m.onnx is not the file that was deployed: its sha256 is ${sha256Of(filled(30))}, ` +
        `the manifest says ${wanted}; models/m.bin is missing; other/m.bin lies outside the folder of its model`,
    );
    expect(cache.stats).toEqual({ models: 0, bytes: 0, hits: 0, misses: 1 });
  });

  it('reads a model anew for other digests, in place of what it had', async () => {
    const bytes = { m: filled(30) };
    const { read } = files(bytes);
    const cache = new HostCache({ limitBytes: 100, read });
    const of = (one: Uint8Array) => ({ sha256: sha256Of(one), data: [] });
    await cache.get('m', of(bytes.m));
    bytes.m = filled(20, 5);
    expect((await cache.get('m', of(bytes.m))).bytes).toEqual(filled(20, 5));
    expect(cache.stats).toMatchObject({ models: 1, bytes: 20 });
    await expect(cache.get('m', of(filled(30)))).rejects.toThrow('m is not the file that was deployed');
    expect(cache.has('m', of(bytes.m))).toBe(true);
  });

  inWholeRun('verifies what is longer than it hashes in one turn of the event loop', async () => {
    const bytes = new Uint8Array(2 ** 25 + 5).map((_, i) => i % 251);
    const { read } = files({ m: bytes });
    const cache = new HostCache({ limitBytes: 2 ** 26, read });
    expect((await cache.get('m', { sha256: sha256Of(bytes), data: [] })).bytes).toBe(bytes);
  });
});
