import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TensorSpec, ToldFaults } from '../../src/formats/index.js';
import { readSamples } from '../../src/samples/read-samples.js';
import { npy, npz } from './numpy-files.js';

const X: TensorSpec = { name: 'x', dtype: 'float32', shape: [1, 2], batchAxis: 0 };
const ID: TensorSpec = { name: 'id', dtype: 'int64', shape: [1], batchAxis: 0 };
const SCALE: TensorSpec = { name: 'scale', dtype: 'float32', shape: [1] };

let folder: string;
const at = (file: string): string => join(folder, file);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-samples-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** read writes files and reads them as samples. It gives the elements of every row, and the faults. */
async function read(files: Record<string, Buffer | string>, inputs: readonly TensorSpec[]) {
  for (const [name, content] of Object.entries(files)) await writeFile(at(name), content);
  const told = new ToldFaults();
  const { rows } = await readSamples(Object.keys(files).map(at), { inputs }, told);
  const faults = told.count === 0 ? [] : told.error('read').faults;
  return {
    rows: rows.map((row) =>
      Object.fromEntries(Object.entries(row).map(([key, { data }]) => [key, [...data]])),
    ),
    faults: faults.map(({ path, message }) => `${path.replace(`${folder}/`, '')}: ${message}`),
  };
}

const x = npy('<f4', [3, 2], { data: Float32Array.of(1, 2, 3, 4, 5, 6) });
const id = npy('<i8', [3], { data: BigInt64Array.of(7n, 8n, 9n) });
const request = (data: readonly number[]) => ({
  inputs: [{ name: 'x', datatype: 'FP32', shape: [data.length / 2, 2], data }],
});

describe('readSamples()', () => {
  it('splits arrays of NumPy into the rows of requests', async () => {
    const rows = [{ x: [1, 2] }, { x: [3, 4] }, { x: [5, 6] }];
    expect(await read({ 'x.npy': x }, [X])).toEqual({ rows, faults: [] });
    const both = await read({ 'both.npz': npz({ 'x.npy': x, 'id.npy': id }) }, [X, ID]);
    expect(both.rows).toEqual([
      { x: [1, 2], id: [7n] },
      { x: [3, 4], id: [8n] },
      { x: [5, 6], id: [9n] },
    ]);
  });

  it('reads INT64 in JSON in the digits that are written, in requests, lists and lines', async () => {
    const of = (digits: string) =>
      `{"inputs":[{"name":"id","datatype":"INT64","shape":[1],"data":[${digits}]}]}`;
    const { rows, faults } = await read(
      {
        'one.json': of('9007199254740993'),
        'list.json': `[${of('-9007199254740993')},\n${of('9223372036854775807')}]`,
        'lines.jsonl': `${of('9007199254740995')}\n${of('9223372036854775808')}\n`,
      },
      [ID],
    );
    expect(rows.map((row) => row.id)).toEqual([
      [9007199254740993n],
      [-9007199254740993n],
      [9223372036854775807n],
      [9007199254740995n],
    ]);
    expect(faults).toEqual([
      'lines.jsonl line 2 input id: its data at 0 is 9223372036854775808, not a valid INT64',
    ]);
  });

  it('gives every row what is sent once for all', async () => {
    const scale = npy('<f4', [1], { data: Float32Array.of(0.5) });
    const { rows } = await read({ 's.npz': npz({ 'x.npy': x, 'scale.npy': scale }) }, [X, SCALE]);
    expect(rows.map((row) => row.scale)).toEqual([[0.5], [0.5], [0.5]]);
  });

  it('reads requests of the Open Inference Protocol, and files one after another', async () => {
    const { rows, faults } = await read(
      {
        'one.json': JSON.stringify(request([1, 2])),
        'list.json': JSON.stringify([request([3, 4, 5, 6]), request([7, 8])]),
        'lines.jsonl': `${JSON.stringify(request([9, 10]))}\n\n${JSON.stringify(request([11, 12]))}\n`,
        'x.npy': x,
      },
      [X],
    );
    expect(faults).toEqual([]);
    expect(rows.map((row) => row.x?.[0])).toEqual([1, 3, 5, 7, 9, 11, 1, 3, 5]);
  });

  it('reports every fault of every file', async () => {
    const wide = npy('<f8', [3, 4], { data: new Float64Array(12) });
    const short = npy('<i8', [2], { data: new BigInt64Array(2) });
    const { faults } = await read(
      {
        'a.npz': npz({ 'x.npy': wide, 'y.npy': x }),
        'b.npz': npz({ 'x.npy': x, 'id.npy': short }),
        'c.npy': x,
        'd.json': '{"inputs": 1}',
        'e.jsonl': `${JSON.stringify({ inputs: [{ ...request([1, 2]).inputs[0], shape: [1, 3] }] })}\n{`,
        'f.txt': '1 2',
        'g.npz': Buffer.from('no archive'),
      },
      [X, ID],
    );
    expect(faults).toEqual([
      "a.npz x: is float64; it must be float32: save array.astype('float32')",
      'a.npz x: its shape is [3, 4]; it must be [-1, 2], where -1 is the number of requests',
      'a.npz y: is no input; those are x, id',
      'a.npz id: lacks an array of this name',
      'b.npz inputs: hold unequal numbers of rows: x 3, id 2',
      'c.npy: is one array, and a request has x, id: save these with np.savez(file, x=…, id=…)',
      'd.json inputs: is not a list; the inputs are x FP32[-1, 2], id INT64[-1]',
      'e.jsonl line 1 input x: its shape is [1,3]; it must be [-1, 2]',
      'e.jsonl line 1 inputs: lacks id INT64[-1]',
      expect.stringContaining('e.jsonl line 2: the body is not JSON'),
      'f.txt: is not known as a file of samples: name one that ends in .npz, .npy, .csv, .json or .jsonl',
      'g.npz: is not an archive of NumPy (.npz)',
    ]);
  });

  it('reads a request on each line of CSV, by columns that the header names in any order', async () => {
    const { rows, faults } = await read({ 'both.csv': 'id,x.1,x.0\n7, 2, 1\r\n8,4.5,-3e-1\n\n' }, [X, ID]);
    expect(faults).toEqual([]);
    expect(rows).toEqual([
      { x: [1, 2], id: [7n] },
      { x: [Math.fround(-0.3), 4.5], id: [8n] },
    ]);
    const words = await read({ 'words.csv': 'word\n"a,\n\nb"\n17\n' }, [
      { name: 'word', dtype: 'string', shape: [1, 1], batchAxis: 0 },
    ]);
    expect(words).toEqual({ rows: [{ word: ['a,\n\nb'] }, { word: ['17'] }], faults: [] });
  });

  it('reads CSV without a header where there is one input of numbers, as the same arrays', async () => {
    const plain = await read({ 'x.csv': '1,2\n3,4\n5,6\n' }, [X]);
    expect(plain).toEqual(await read({ 'x.npy': x }, [X]));
    expect(await read({ 'x.csv': 'x.0,x.1\n1,2\n3,4\n5,6\n' }, [X])).toEqual(plain);
  });

  it('reports every faulty line and column of CSV', async () => {
    const open: TensorSpec = { ...X, shape: [1, 7], variableAxes: [1] };
    const { faults } = await read(
      { 'a.csv': '1,2\n3\n0x4,5\n6,nan\n', 'b.csv': 'x.0,y,x.0\n1,2,3\n', 'c.csv': '' },
      [X],
    );
    expect(faults).toEqual([
      'a.csv line 2: has 1 cells, and 2 are needed',
      'a.csv line 3: cell 1, of x, is "0x4"; a number is needed',
      'a.csv line 4: cell 2, of x, is "nan"; a number is needed',
      'b.csv line 1: lacks x.1; the columns are x.0, x.1',
      'b.csv line 1: has no input for y; the columns are x.0, x.1',
      'b.csv line 1: names twice x.0; the columns are x.0, x.1',
      'c.csv line 1: lacks x.0, x.1; the columns are x.0, x.1',
    ]);
    expect((await read({ 'gap.csv': 'x.0,x.1\n1,2\n\n3,4\n' }, [X])).faults).toEqual([
      'gap.csv line 3: is empty',
    ]);
    expect((await read({ 'd.csv': 'id\n9007199254740993\n1.5\n' }, [ID])).faults).toEqual([
      'd.csv line 2: cell 1, of id, is "9007199254740993"; a whole number within 2^53 is needed',
      'd.csv line 3: cell 1, of id, is "1.5"; a whole number within 2^53 is needed',
    ]);
    expect((await read({ 'e.csv': '1,2\n' }, [open])).faults).toEqual([
      'e.csv x: has a shape that is not fixed, so that no columns can stand for it: save .npz or .jsonl',
    ]);
    expect((await read({ 'f.csv': `x.0,x.1\n${'1\n'.repeat(50)}` }, [X])).faults.at(-1)).toBe(
      ': … and 30 more faults',
    );
  });

  it('reports only the first of many requests that cannot be read', async () => {
    const { faults } = await read({ 'many.jsonl': '{}\n'.repeat(50) }, [X]);
    expect(faults).toHaveLength(21);
    expect(faults.at(-1)).toBe(': … and 30 more faults');
  });
});
