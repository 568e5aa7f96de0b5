import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  deployPlan,
  diffPlanFiles,
  importProfileFiles,
  mergeProfileFiles,
  partitionModelFile,
  profileModelFile,
} from '../../src/api/index.js';
import { InputError, MissingError } from '../../src/formats/index.js';
import { compareSpec, solveSpec } from '../../src/specs/index.js';

const POOLED = join(dirname(createRequire(import.meta.url).resolve('#package')), 'examples/pooled');

let folder: string;
const at = (file: string): string => join(folder, file);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-missing-'));
  await copyFile(join(POOLED, 'expected-plan.json'), at('plan.json'));
  await copyFile(join(POOLED, 'spec.yaml'), at('spec.yaml'));
  await writeFile(at('bad.json'), '{');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const PARTITION = { devices: [], blocks: 2, method: 'greedy', boundary: 'exact' } as const;
const PROFILE = { devices: ['cpu:1'], batch: [1], virtual: [1], boundary: 'exact' } as const;
const LIMITS = { warmup: 1, minRuns: 1, minMs: 1, maxMs: 1 };

it.each<[string, () => Promise<unknown>, string[]]>([
  [
    'solveSpec()',
    () => solveSpec(at('spec.yaml')),
    ['cluster.yaml', 'detector.profile.json', 'segmenter.profile.json'],
  ],
  ['compareSpec()', () => compareSpec(at('no-spec'), { mixFile: at('no-mixes') }), ['no-spec', 'no-mixes']],
  ['diffPlanFiles()', () => diffPlanFiles(at('a.json'), at('b.json')), ['a.json', 'b.json']],
  [
    'mergeProfileFiles()',
    () => mergeProfileFiles([at('a.json'), at('b.json')], at('c.json')),
    ['a.json', 'b.json'],
  ],
  [
    'importProfileFiles()',
    () =>
      importProfileFiles('csv', [at('a.csv'), at('b.csv')], {
        model: 'm',
        virtual: 1,
        batch: [1],
        cutBytes: at('c.txt'),
        output: at('o.json'),
      }),
    ['a.csv', 'b.csv', 'c.txt'],
  ],
  [
    'deployPlan()',
    () => deployPlan(at('plan.json'), { output: at('bundle') }),
    ['detector.profile.json', 'segmenter.profile.json'],
  ],
  [
    'partitionModelFile()',
    () => partitionModelFile(at('m.onnx'), { ...PARTITION, profile: at('p.json') }),
    ['m.onnx', 'p.json'],
  ],
  [
    'profileModelFile()',
    () => profileModelFile(at('m.onnx'), { ...PROFILE, ...LIMITS, resume: true, output: at('p.json') }),
    ['m.onnx', 'p.json'],
  ],
])('%s names every file that is missing', async (_, run, files) => {
  const error = await run().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(MissingError);
  const { message } = error as MissingError;
  for (const file of files) expect(message).toMatch(new RegExp(`${file}: there is no such file`));
});

it('a file that is bad beside one that is missing makes an InputError that is no MissingError', async () => {
  const error = await diffPlanFiles(at('a.json'), at('bad.json')).catch((thrown: unknown) => thrown);
  expect(error).not.toBeInstanceOf(MissingError);
  expect(error).toBeInstanceOf(InputError);
  expect((error as Error).message).toMatch(/a\.json: there is no such file[\s\S]*bad\.json: it is not JSON/);
});
