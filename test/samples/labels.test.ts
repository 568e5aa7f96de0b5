import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sha256Of, type TensorSpec, ToldFaults } from '../../src/formats/index.js';
import { type FamilyRun, recordFamily } from '../../src/samples/family.js';
import { type Labelled, readLabels } from '../../src/samples/labels.js';
import { npy } from './numpy-files.js';

const scores = (classes: number, more: Partial<TensorSpec> = {}): TensorSpec => ({
  name: 'scores',
  dtype: 'float32',
  shape: [1, classes],
  batchAxis: 0,
  ...more,
});
const LABELLED: Labelled = {
  scores: [
    { of: 'large', output: scores(12) },
    { of: 'small', output: scores(10) },
  ],
};

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-labels-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function read(content: string | Buffer, asked: Labelled = LABELLED, name = 'y.csv') {
  const path = join(folder, name);
  await writeFile(path, content);
  const told = new ToldFaults();
  const found = await readLabels(path, asked, told);
  const faults = told.count === 0 ? [] : told.error('read').faults;
  expect(found === undefined).toBe(faults.length > 0);
  expect(found?.file ?? { path, sha256: sha256Of(Buffer.from(content)) }).toEqual({
    path,
    sha256: sha256Of(Buffer.from(content)),
  });
  return found?.labels ?? faults.map(({ path, message }) => `${path.replace(`${folder}/`, '')}: ${message}`);
}

describe('readLabels()', () => {
  it('reads a class on each line, after a header or none, and the array of NumPy', async () => {
    for (const text of ['0\n9\n3\n1\n', 'label\r\n0\r\n9\r\n 3\r\n1', '0\n9\n3\n1\n\n \n'])
      expect(await read(text)).toEqual([0, 9, 3, 1]);
    const array = npy('<i8', [4], { data: BigInt64Array.of(0n, 9n, 3n, 1n) });
    expect(await read(array, LABELLED, 'y.npy')).toEqual([0, 9, 3, 1]);
  });

  it('refuses an empty line within the file, after which all labels would be those of other samples', async () => {
    expect(await read('0\n\n3\n1\n')).toEqual(['y.csv label 2: is empty']);
  });

  it('reports every label that is no class of the model with fewest', async () => {
    expect(await read('0\n10\n-1\n1.5\n11\nx\n')).toEqual([
      'y.csv label 2: is 10, and small has the classes 0 to 9',
      'y.csv label 3: is -1; classes are whole numbers from 0',
      'y.csv label 4: is 1.5; classes are whole numbers from 0',
      'y.csv label 5: is 11, and small has the classes 0 to 9',
      'y.csv label 6: is x; classes are whole numbers from 0',
    ]);
    expect((await read('12\n'.repeat(15))).slice(9)).toEqual([
      'y.csv label 10: is 12, and small has the classes 0 to 9',
      'y.csv: has 5 further labels that are no class',
    ]);
    expect(await read('\n')).toEqual(['y.csv: has no label']);
  });

  it('takes rows with a single 1 among zeros, and refuses other rows of several numbers', async () => {
    expect(await read('0,0,1\n1,0,0\n0,1.0,0\n')).toEqual([2, 0, 1]);
    expect(await read('a,b,c\r\n0,0,1\r\n1,0,0\r\n')).toEqual([2, 0]);
    const data = Float32Array.of(0, 1, 0, 1, 0, 0);
    expect(await read(npy('<f4', [2, 3], { data }), LABELLED, 'y.npy')).toEqual([1, 0]);
    expect(await read(npy('<f4', [2, 1], { data: Float32Array.of(5, 7) }), LABELLED, 'y.npy')).toEqual([
      5, 7,
    ]);
    for (const text of ['0,1,1\n', '1,0\n0,1,0\n', '0,0\n', '3,0\n', '0.5,0.5\n'])
      expect(await read(text)).toEqual([expect.stringContaining('has several numbers for label')]);
    expect(await read(npy('<f4', [1, 2, 3], { data }), LABELLED, 'y.npy')).toEqual([
      'y.npy: has 3 axes; labels have one, or two of one-hot rows',
    ]);
  });

  it('refuses words, whose classes it cannot know', async () => {
    expect(await read('label\ncat\ndog\ncat\n')).toEqual([
      `y.csv: holds words, such as "cat": write the number of each class, from 0, in the order of the model's scores`,
    ]);
  });

  it('compares no classes of a shape that does not say how many there are', async () => {
    const open = [scores(-1), scores(10, { variableAxes: [1] })];
    const asked = { scores: open.map((output) => ({ of: 'm', output })) };
    expect(await read('7\n99\n', asked)).toEqual([7, 99]);
  });
});

describe('recordFamily()', () => {
  const data = Float32Array.of(0.1, 0.7, 0.2);
  const outputs = { scores: { dtype: 'float32', dims: [1, 3], data } };
  const executor: FamilyRun['executor'] = {
    load: async () => ({
      model: 0,
      loadMs: 0,
      inputs: [],
      outputs: ['scores'],
      inputInfo: [],
      outputInfo: [],
    }),
    run: async () => ({ executionUs: 0, startedNs: 0, endedNs: 0, outputs }),
  };
  const family = (labels: readonly number[]) =>
    recordFamily(
      labels.map(() => ({})),
      { executor, labels, certainty: 'top-2', models: [{ name: 'm', file: 'm.onnx', output: 'scores' }] },
    );

  it('writes what a model says of each sample', async () => {
    const found = await family([1, 0]);
    const lines = 'text' in found ? found.text.split('\n') : [];
    expect(lines.map((line) => line.split(',').slice(0, 4))).toEqual([
      ['sample', 'model', 'prediction', 'label'],
      ['0', 'm', '1', '1'],
      ['1', 'm', '1', '0'],
      [''],
    ]);
  });

  it('reports every label that is no class, where only the scores show how many there are', async () => {
    const found = await family([3, 2, 8]);
    expect('faults' in found && found.faults).toEqual([
      { path: 'label 1', message: 'is 3, and m has the classes 0 to 2' },
      { path: 'label 3', message: 'is 8, and m has the classes 0 to 2' },
    ]);
  });
});
