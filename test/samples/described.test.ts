import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ToldFaults } from '../../src/formats/index.js';
import { inputsOfSamples, readSamples } from '../../src/samples/index.js';
import { npy, npz } from './numpy-files.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-described-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** described writes a file of samples and gives the inputs that it names, the rows that are read by them, and the faults. */
async function described(name: string, content: Buffer | string) {
  const path = join(folder, name);
  await writeFile(path, content);
  const told = new ToldFaults();
  const inputs = await inputsOfSamples([path], told);
  const rows = told.count > 0 ? [] : (await readSamples([path], { inputs }, told)).rows;
  const faults = told.count === 0 ? [] : told.error('read').faults;
  return { inputs, rows: rows.length, faults: faults.map(({ message }) => message) };
}

const X = { name: 'x', dtype: 'float32', shape: [1, 2], batchAxis: 0 };
const request = { inputs: [{ name: 'x', datatype: 'FP32', shape: [2, 2], data: [1, 2, 3, 4] }] };

describe('inputsOfSamples()', () => {
  it.each<[name: string, content: Buffer | string, rows: number]>([
    ['one.json', JSON.stringify(request), 2],
    ['some.json', JSON.stringify([request, request]), 4],
    ['some.jsonl', `\n${JSON.stringify(request)}\n${JSON.stringify(request)}\n`, 4],
    ['some.npz', npz({ 'x.npy': npy('<f4', [3, 2], { data: new Float32Array(6) }) }), 3],
  ])('gives the inputs that %s names, by which its rows are read', async (name, content, rows) => {
    expect(await described(name, content)).toEqual({ inputs: [X], rows, faults: [] });
  });

  it.each<[name: string, content: Buffer | string, why: string]>([
    ['one.npy', npy('<f4', [3, 2], { data: new Float32Array(6) }), 'does not name the inputs'],
    ['some.csv', 'x0,x1\n1,2\n', 'does not name the inputs'],
    ['none.json', '{"inputs":[{"name":"x"}]}', 'input x of its first request lacks'],
    [
      'odd.json',
      JSON.stringify({
        inputs: [...request.inputs, { name: 'z', datatype: 'FLOAT', shape: [2], data: [1, 2] }],
      }),
      'input z of its first request lacks a name, a datatype of the protocol or a shape',
    ],
    ['empty.json', '{"inputs":[]}', 'does not name the inputs'],
    ['null.json', 'null', 'does not name the inputs'],
    ['bad.json', '{"inputs":', 'is not JSON'],
    ['bad.npz', 'PK', ''],
  ])('says of %s why it describes nothing', async (name, content, why) => {
    const { inputs, faults } = await described(name, content);
    expect([inputs, faults.length]).toEqual([[], 1]);
    expect(faults[0]).toContain(why);
  });
});
