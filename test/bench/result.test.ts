import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readResult } from '../../bench/results/read-result.js';
import { inputsAt, measuresOf, resultOf, saveResult } from '../../bench/results/result.js';
import { InputError } from '../../src/formats/index.js';
import { RESULT } from './results.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-bench-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const RUN = { bench: 'theory', options: { seed: 1 }, measures: [{ name: 'wait', values: [1, 2] }], rows: [] };

describe('resultOf()', () => {
  it('reports the machine, Node and options of a run', () => {
    expect(resultOf(RUN)).toMatchObject({
      ...RUN,
      kind: 'bench-result',
      node: process.version.slice(1),
      machine: { cores: cpus().length },
      inputs: {},
    });
  });
});

describe('saveResult()', () => {
  it('writes what readResult() reads, and writes nothing without a path', async () => {
    const path = join(folder, 'saved.json');
    saveResult(path, RUN);
    expect(readResult(path)).toEqual(resultOf(RUN));
    expect(JSON.parse(await readFile(path, 'utf8')).measures).toEqual(RUN.measures);
    saveResult(undefined, RUN);
  });
});

describe('measuresOf()', () => {
  it('names each figure by its row, and leaves out figures that a row lacks', () => {
    const rows = [
      { name: 'a', ms: 3, tries: [1, 2], p99: undefined },
      { name: 'b', ms: Number.NaN, tries: [], p99: 7 },
    ];
    const figures = {
      ms: (row: (typeof rows)[0]) => row.ms,
      tries: (row: (typeof rows)[0]) => row.tries,
      p99: (row: (typeof rows)[0]) => row.p99,
    };
    expect(measuresOf(rows, ({ name }) => name, figures)).toEqual([
      { name: 'a: ms', values: [3] },
      { name: 'a: tries', values: [1, 2] },
      { name: 'b: p99', values: [7] },
    ]);
  });
});

describe('inputsAt()', () => {
  it('gives the digest of a file by its name', async () => {
    await writeFile(join(folder, 'one.txt'), 'one');
    const sha256 = createHash('sha256').update('one').digest('hex');
    expect(inputsAt(join(folder, 'one.txt'))).toEqual({ 'one.txt': sha256 });
    expect(inputsAt(join(folder, 'one.txt'), 'named')).toEqual({ named: sha256 });
  });

  it('gives one digest of a folder, which changes with the bytes and the name of any file in it', async () => {
    const made = async (name: string, file: string, text: string): Promise<string | undefined> => {
      const place = join(folder, name);
      await mkdir(join(place, 'below'), { recursive: true });
      await writeFile(join(place, 'first'), '1');
      await writeFile(join(place, 'below', file), text);
      return inputsAt(place, 'data').data;
    };
    const first = await made('a', 'second', '2');
    expect(await made('b', 'second', '2')).toBe(first);
    expect(await made('c', 'second', '3')).not.toBe(first);
    expect(await made('d', 'third', '2')).not.toBe(first);
  });

  it('is empty where no file exists', () => {
    expect(inputsAt(join(folder, 'nothing'))).toEqual({});
  });
});

describe('readResult()', () => {
  const refusal = async (text: string): Promise<InputError> => {
    const path = join(folder, 'refused.json');
    await writeFile(path, text);
    try {
      readResult(path);
    } catch (error) {
      return error as InputError;
    }
    throw new Error('it was taken');
  };

  it('refuses files that are no JSON, and JSON that no bench wrote', async () => {
    expect(await refusal('{')).toBeInstanceOf(InputError);
    for (const text of ['null', '[]', '{"kind":"pooled-plan"}'])
      expect((await refusal(text)).message).toContain('it is no result of a bench');
  });

  it('reports every fault of a result', async () => {
    const { faults } = await refusal('{"kind":"bench-result","inputs":[],"measures":[{"name":"a"}]}');
    expect(faults.map(({ message }) => message.split(' ')[0])).toEqual([
      'bench',
      'node',
      'machine',
      'options',
      'inputs',
      'measures',
    ]);
    const worded = { ...RESULT, measures: [{ name: 'a', values: ['1'] }] };
    expect((await refusal(JSON.stringify(worded))).faults).toHaveLength(1);
  });
});
