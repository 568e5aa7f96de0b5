import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { jsonOf, mutateJson } from '../../../bench/fuzz/mutate-json.js';
import { mutateProtobuf } from '../../../bench/fuzz/mutate-protobuf.js';
import { mutateRequest } from '../../../bench/fuzz/mutate-request.js';
import { faultsOf, type Ran } from '../../../bench/fuzz/program.js';
import { changesOf, pictureOf } from '../../../bench/fuzz/watch.js';
import { Dice } from '../../../bench/seeded/dice.js';
import { inWholeRun } from '../../cases.js';

describe('the rules of the fuzzers', () => {
  const ran: Ran = { args: ['validate', 'f'], code: 2, stdout: '', stderr: 'error: Cannot read f\n' };

  it('accept an ordinary refusal', () => {
    expect(faultsOf(ran, '')).toEqual([]);
    expect(faultsOf({ ...ran, args: ['validate', '--json'], stdout: '{}' }, '')).toEqual([]);
  });

  it.each<[string, Partial<Ran>]>([
    ['an error that was thrown', { thrown: new Error('oops') }],
    ['exit code 1', { code: 1 }],
    ['a stack trace', { stderr: 'error: x\n    at run (file.js:1:2)\n' }],
    ['what a terminal obeys', { stderr: 'error: \u001b[2J' }],
    ['a message without end', { stderr: 'x'.repeat(100_000) }],
    ['a value that is none', { stderr: 'error: undefined is wanted' }],
    ['a number that is none', { stderr: 'error: at most NaN' }],
    ['a number without end', { stderr: 'error: at most -Infinity' }],
    ['a value that was not written out', { stderr: 'error: [object Object]' }],
    ['silence', { args: ['solve', 'f'], stderr: '' }],
    ['text where JSON was asked for', { args: ['validate', '--json'], stdout: 'hello' }],
  ])('find %s', (_what, broken) => {
    expect(faultsOf({ ...ran, ...broken }, '')).toHaveLength(1);
  });

  it('let a command quote a word that it was given', () => {
    expect(faultsOf({ ...ran, stderr: 'error: "NaN" is no number' }, 'NaN')).toEqual([]);
  });

  it('find inputs that were changed, touched or removed, and files left behind', async () => {
    const path = join(folder, 'input');
    await writeFile(path, 'one');
    const before = pictureOf(folder);
    expect(changesOf(before, pictureOf(folder))).toEqual([]);
    await utimes(path, 1, 1);
    expect(changesOf(before, pictureOf(folder))).toEqual([expect.stringContaining('input has changed')]);
    await rm(path);
    await writeFile(join(folder, 'stray'), '');
    await writeFile(join(folder, 'wanted'), '');
    expect(changesOf(before, pictureOf(folder), ['wanted'])).toEqual([
      'the input input is gone',
      'the file stray was left behind',
    ]);
  });

  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'inferplan-rules-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));
});

describe('mutations', () => {
  inWholeRun('are the same from the same seed and number, and differ from other seeds and numbers', () => {
    const document = { kind: 'x', list: [1, 2, { name: 'a' }, { name: 'b' }] };
    const bytes = Buffer.from([0x0a, 3, 0x61, 0x62, 0x63, 0x10, 5]);
    const made = (seed: number, number: number) => {
      const dice = () => new Dice(seed, `test/${number}`);
      const request = mutateRequest(dice());
      return JSON.stringify([
        jsonOf(mutateJson(dice(), document).value),
        mutateProtobuf(dice(), bytes).value.toString('hex'),
        request.pieces.map((piece) => piece.toString('hex')),
      ]);
    };
    for (let number = 0; number < 50; number++) expect(made(1, number)).toBe(made(1, number));
    expect(new Set(Array.from({ length: 50 }, (_, number) => made(1, number))).size).toBeGreaterThan(45);
    expect(made(1, 0)).not.toBe(made(2, 0));
  });

  it('leave the given document unchanged', () => {
    const document = { a: [1, { b: 'c' }], d: 2 };
    for (let i = 0; i < 100; i++) mutateJson(new Dice(i, 'kept'), document);
    expect(document).toEqual({ a: [1, { b: 'c' }], d: 2 });
  });
});
