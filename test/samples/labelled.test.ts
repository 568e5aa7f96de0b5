import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type TensorSpec, ToldFaults } from '../../src/formats/index.js';
import { readLabelled } from '../../src/samples/index.js';
import { inWholeRun } from '../cases.js';
import { npy, npz } from './numpy-files.js';

const unpacked = vi.hoisted(() => ({ bytes: 0 }));
vi.mock('node:zlib', async (original) => {
  const zlib = await original<typeof import('node:zlib')>();
  const inflateRawSync: typeof zlib.inflateRawSync = (...args) => {
    const bytes = zlib.inflateRawSync(...args);
    unpacked.bytes += bytes.length;
    return bytes;
  };
  return { ...zlib, inflateRawSync };
});

const X: TensorSpec = { name: 'x', dtype: 'float32', shape: [1, 2], batchAxis: 0 };
const SCORES: TensorSpec = { name: 's', dtype: 'float32', shape: [1, 3], batchAxis: 0 };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-labelled-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function read(samples: string, content: Buffer, labels: number) {
  const [at, labelsAt] = [join(folder, samples), join(folder, 'y.csv')];
  await writeFile(at, content);
  await writeFile(labelsAt, '1\n'.repeat(labels));
  const told = new ToldFaults();
  const scores = [{ of: 'm', output: SCORES }];
  unpacked.bytes = 0;
  const { read } = await readLabelled({ samples: [at], labels: labelsAt, inputs: [X], scores }, told);
  const faults = told.count === 0 ? [] : told.error('read').faults;
  return {
    rows: read.rows.length,
    faults: faults.map(({ path, message }) => `${path}: ${message}`.replaceAll(`${folder}/`, '')),
  };
}

const zeros = (rows: number) => npy('<f4', [rows, 2], { data: new Float32Array(2 * rows) });

describe('readLabelled()', () => {
  it('reads 130,000 samples with as many labels', async () => {
    expect(await read('x.npy', zeros(130_000), 130_000)).toEqual({ rows: 130_000, faults: [] });
  });

  it('says how many labels and samples there are where they differ', async () => {
    expect((await read('x.npy', zeros(3), 4)).faults).toEqual([
      'y.csv: has 4 labels, and there are 3 samples',
    ]);
  });

  inWholeRun(
    'unpacks no array that says it has more rows than there are labels, except for its beginning',
    async () => {
      const archive = npz({ 'x.npy': zeros(4_000_000) }, true);
      expect(archive.length).toBeLessThan(100_000);
      expect((await read('x.npz', archive, 300)).faults).toEqual([
        'x.npz x: makes 4000000 samples, and y.csv has 300 labels',
      ]);
      expect(unpacked.bytes).toBeLessThan(2_000_000);
    },
  );

  it('unpacks no array whose size is not that of its shape', async () => {
    const array = zeros(8_000_000);
    const short = Buffer.from(array);
    short.write('(4, 2),       ', short.indexOf('(8000000, 2)'));
    expect((await read('x.npz', npz({ 'x.npy': short }, true), 300)).faults).toEqual([
      'x.npz x: has 64000000 bytes of elements; its shape has 32',
    ]);
    expect(unpacked.bytes).toBeLessThan(2_000_000);
  });

  it('refuses more samples than are read, by what the array says', async () => {
    const archive = npz({ 'x.npy': zeros(500_001) }, true);
    expect((await read('x.npz', archive, 500_002)).faults).toEqual([
      'x.npz x: makes 500001 samples; at most 500000 are read',
    ]);
  });
});
