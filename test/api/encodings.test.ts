import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { importProfileFiles, simulatePlan } from '../../src/api/index.js';
import { compareSpec } from '../../src/specs/index.js';

const POOLED = join(dirname(createRequire(import.meta.url).resolve('#package')), 'examples/pooled');
const PLAN = join(POOLED, 'expected-plan.json');
const SPEC = join(POOLED, 'spec.yaml');

let folder: string;
const at = (file: string): string => join(folder, file);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-encodings-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it.each<[string, string, () => Promise<unknown>]>([
  ['a trace', 'arrival_s\n0.1\n', () => simulatePlan(PLAN, { traces: [at('x.csv')] })],
  ['a file of mixes', 'fast=1\n', () => compareSpec(SPEC, { mixFile: at('x.csv') })],
  [
    'a file of cut bytes',
    '10\n',
    () =>
      importProfileFiles('csv', [at('m-L4-0.csv')], {
        model: 'm',
        virtual: 1,
        batch: [1],
        cutBytes: at('x.csv'),
      }),
  ],
])('%s in UTF-16 is reported by its encoding', async (_, text, run) => {
  await writeFile(at('m-L4-0.csv'), '1500\n');
  await writeFile(at('x.csv'), `\uFEFF${text}`, 'utf16le');
  await expect(run()).rejects.toThrow(/x\.csv: it is text in UTF-16; save it as UTF-8/);
});
