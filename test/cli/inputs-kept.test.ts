import {
  copyFile,
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deployPlan, partitionModelFile, profileModelFile } from '../../src/api/index.js';
import { sha256OfFile } from '../../src/artifacts/index.js';
import type { Profile } from '../../src/formats/index.js';
import { solveSpec } from '../../src/specs/index.js';
import { fewOf, inWholeRun } from '../cases.js';
import * as w from '../onnx/writer.js';
import { plan } from './plan.js';

const QUICK = { warmup: 1, minRuns: 1, minMs: 1, maxMs: 20, batch: [1], virtual: [1] };
const CUT = { blocks: 2, method: 'greedy', boundary: 'exact' } as const;

let folder: string;
const at = (file: string): string => join(folder, file);
const json = (file: string, value: unknown): Promise<void> => writeFile(at(file), JSON.stringify(value));

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'inferplan-inputs-')));
  await symlink('.', at('here'));
  await writeModel('model.onnx', 'weights.bin');
  await json('model.profile.json', await profileOf('cpu'));
  await json('other.profile.json', await profileOf('other'));
  await json('cluster.json', { devices: { cpu: { count: 1 } }, networkGbps: 10 });
  await json('spec.json', specOf('model.profile.json'));
  expect((await solveSpec(at('spec.json'), { output: at('plan.json') })).outcome).toBe('plan');
  await writeFile(at('trace.csv'), '0.5\n1.5\n');
  await writeFile(at('mixes.csv'), 'cpu=1\n');
  await writeFile(at('m-A-0.csv'), '10\n20\n');
  await writeFile(at('cuts.csv'), '100\n');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** This model has two nodes, and keeps its weights in a file of its own. */
async function writeModel(file: string, data: string): Promise<void> {
  const weights = w.externalFloats('v', [4], { location: data, offset: '0', length: '16' });
  const graph = w.graph({
    nodes: [w.node('Add', ['x', 'v'], ['a']), w.node('Mul', ['a', 'v'], ['y'])],
    initializers: [weights],
    inputs: [w.value('x', w.FLOAT, ['batch', 4])],
    outputs: [w.value('y', w.FLOAT, ['batch', 4])],
  });
  await writeFile(at(file), w.model(graph));
  await writeFile(at(data), new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer));
}

/** This profile of the model has one class of devices. */
async function profileOf(name: string): Promise<Profile> {
  const data = [{ path: 'weights.bin', sha256: await sha256OfFile(at('weights.bin')) }];
  const sha256 = await sha256OfFile(at('model.onnx'));
  return {
    kind: 'profile',
    version: '1.0',
    model: { name: 'model', file: 'model.onnx', sha256, data },
    blocks: [{ cutBytes: 16 }, { cutBytes: 0 }],
    devices: { [name]: { provider: 'cpu', threads: 1, blockLatencyUs: { 1: { 1: [10, 20] } } } },
  };
}

function specOf(profile: string): object {
  return { kind: 'pooled', cluster: 'cluster.json', models: [{ profile, sloMs: 2000 }] };
}

/** Lists everything in the folder: names, links and bytes. */
async function everything(): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const all = entries.map(async (entry): Promise<[string, string]> => {
    const path = join(entry.parentPath, entry.name);
    return [path, entry.isFile() ? await readFile(path, 'latin1') : entry.isDirectory() ? '/' : '->'];
  });
  return Object.fromEntries(await Promise.all(all));
}

/** Paths of an input: its own, and others that lead to the same file. */
async function pathsOf(file: string): Promise<Record<string, string>> {
  await rm(at('aliases'), { recursive: true, force: true });
  await mkdir(at('aliases'));
  const [soft, hard] = ['soft', 'hard'].map((name) => at(`aliases/${name}${extname(file)}`)) as [
    string,
    string,
  ];
  await symlink(`../${file}`, soft);
  await link(at(file), hard);
  return {
    direct: at(file),
    relative: relative(process.cwd(), at(file)),
    dots: `${folder}/./aliases/../${file}`,
    'linked folder': at(`here/here/${file}`),
    symlink: soft,
    'hard link': hard,
  };
}

const PROFILING = ['-b', '1', '--warmup', '1', '--min-runs', '1', '--min-ms', '1', '--max-ms', '20'];

/**
 * The commands that write a file: the arguments without the output, the option that names the output, and every input
 * with the name that messages give it.
 */
const COMMANDS: [string, string[], string, Record<string, string>][] = [
  [
    'profile',
    ['profile', 'model.onnx', ...PROFILING, '--blocks', 'model.profile.json'],
    '--output',
    {
      'model.onnx': 'the model',
      'weights.bin': 'external data of the model',
      'model.profile.json': 'the profile that gives the blocks',
    },
  ],
  [
    'profile, where it measures blocks of its own',
    ['profile', 'model.onnx', ...PROFILING, '--blocks', '2'],
    '--output',
    { 'model.onnx': 'the model', 'weights.bin': 'external data of the model' },
  ],
  [
    'profile import',
    'profile import csv m-A-0.csv --model m --batch 1 --cut-bytes cuts.csv'.split(' '),
    '--output',
    { 'm-A-0.csv': 'a file of latencies', 'cuts.csv': 'the file of cut bytes' },
  ],
  [
    'profile merge',
    'profile merge model.profile.json other.profile.json'.split(' '),
    '--output',
    {
      'model.profile.json': 'a profile to merge',
      'other.profile.json': 'a profile to merge',
      'model.onnx': 'the model of the profile ',
      'weights.bin': 'external data of the model',
    },
  ],
  ...['--output', '--extract'].map((option): (typeof COMMANDS)[number] => [
    `partition ${option}`,
    'partition model.onnx --profile model.profile.json --blocks 2'.split(' '),
    option,
    {
      'model.onnx': 'the model',
      'weights.bin': 'external data of the model',
      'model.profile.json': 'the profile',
    },
  ]),
  [
    'partition, where it measures layers',
    'partition model.onnx --blocks 2'.split(' '),
    '--output',
    { 'model.onnx': 'the model', 'weights.bin': 'external data of the model' },
  ],
  [
    'solve',
    'solve spec.json'.split(' '),
    '--output',
    {
      'spec.json': 'the spec',
      'cluster.json': 'the cluster of the spec',
      'model.profile.json': 'a profile of the spec',
      'model.onnx': 'the model of the profile ',
      'weights.bin': 'external data of the model',
    },
  ],
  [
    'compare',
    'compare spec.json --mix-file mixes.csv'.split(' '),
    '--output',
    {
      'spec.json': 'the spec',
      'cluster.json': 'the cluster of the spec',
      'model.profile.json': 'a profile of the spec',
      'mixes.csv': 'the file of mixes',
    },
  ],
  ...[
    ['--output'],
    ['--timeline'],
    ['--output', '--sweep', 'load=0.5'],
    ['--output', '--schedulers', 'all'],
  ].map(([option, ...more]): (typeof COMMANDS)[number] => [
    `simulate ${[option, ...more].join(' ')}`,
    ['simulate', 'plan.json', '--trace', 'trace.csv', ...more],
    option as string,
    {
      'plan.json': 'the plan',
      'model.profile.json': 'the profile',
      'model.onnx': 'the model of the profile ',
      'weights.bin': 'external data of the model',
      'trace.csv': 'the trace',
    },
  ]),
  [
    'deploy',
    ['deploy', 'plan.json'],
    '--output',
    {
      'plan.json': 'the plan',
      'spec.json': 'the spec of the plan',
      'cluster.json': 'the cluster of the plan',
      'model.profile.json': 'the profile of the plan',
      'model.onnx': 'the model',
      'weights.bin': 'external data of the model',
    },
  ],
];

const FILE = /^[\w.-]+\.(onnx|json|csv)$/;

describe('A command whose output is one of its inputs exits with 2, reports it and writes nothing:', () => {
  it.each(COMMANDS)('plan %s', async (_, args, option, inputs) => {
    const absolute = args.map((arg) => (FILE.test(arg) ? at(arg) : arg));
    for (const [file, what] of Object.entries(inputs)) {
      const paths = await pathsOf(file);
      const before = await everything();
      for (const [how, output] of fewOf(Object.entries(paths), 2)) {
        const { code, stderr } = await plan([...absolute, option, output]);
        const told = { file, how, code, stderr };
        expect(told).toEqual({ file, how, code: 2, stderr: expect.stringContaining(`${option}: ${output}`) });
        expect(stderr).toContain(`is ${what}`);
        expect(stderr).toMatch(/, an input that would be replaced; name another (file|folder)\n$/);
        expect(await everything()).toEqual(before);
      }
    }
  });

  it('plan profile without -o, if a profile of the default name gives the blocks', async () => {
    const before = await everything();
    const args = ['profile', 'model.onnx', ...PROFILING, '--blocks', 'model.profile.json'];
    const { code, stderr } = await plan(args, { cwd: folder });
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('gives the blocks') });
    expect(await everything()).toEqual(before);
  });
});

describe('A folder that holds an input is not replaced', () => {
  const ways = (name: string): string[] => [
    at(name),
    `${at(name)}/`,
    `${folder}/aliases/../${name}`,
    at(`${name}-link`),
  ];

  async function refused(args: readonly string[], said: RegExp): Promise<void> {
    const before = await everything();
    const { code, stderr } = await plan(args);
    expect({ args, code, stderr }).toEqual({ args, code: 2, stderr: expect.stringMatching(said) });
    expect(await everything()).toEqual(before);
  }

  /** A folder that looks enough like a bundle that a bundle may replace it. */
  async function bundleFolder(name: string): Promise<void> {
    await mkdir(at(name));
    await symlink(name, at(`${name}-link`));
    await json(`${name}/manifest.json`, { kind: 'bundle' });
  }

  inWholeRun('by plan deploy, if it holds the plan, a profile or a model', async () => {
    for (const name of ['of-plan', 'of-model', 'of-profile']) await bundleFolder(name);
    await solveSpec(at('spec.json'), { output: at('of-plan/plan.json') });
    for (const output of ways('of-plan'))
      await refused(
        ['deploy', at('of-plan/plan.json'), '-o', output],
        /--output: the folder .* holds .*: the plan,/,
      );

    for (const file of ['model.onnx', 'weights.bin']) await copyFile(at(file), at(`of-model/${file}`));
    const model = ['--model', `model=${at('of-model/model.onnx')}`];
    for (const output of ways('of-model'))
      await refused(
        ['deploy', at('plan.json'), ...model, '-o', output],
        /holds .*: the model model, an input/,
      );

    await mkdir(at('apart/of-data'), { recursive: true });
    await json('apart/of-data/manifest.json', { kind: 'bundle' });
    await copyFile(at('model.onnx'), at('apart/model.onnx'));
    await copyFile(at('weights.bin'), at('apart/of-data/weights.bin'));
    await symlink('of-data/weights.bin', at('apart/weights.bin'));
    const apart = ['--model', `model=${at('apart/model.onnx')}`];
    for (const output of [at('apart/of-data'), `${folder}/aliases/../apart/of-data/`])
      await refused(
        ['deploy', at('plan.json'), ...apart, '-o', output],
        /holds .*: external data of the model, an input/,
      );

    const profile = await profileOf('cpu');
    await json('of-profile/p.json', { ...profile, model: { ...profile.model, file: '../model.onnx' } });
    await json('spec-2.json', specOf('of-profile/p.json'));
    await solveSpec(at('spec-2.json'), { output: at('plan-2.json') });
    for (const output of ways('of-profile'))
      await refused(
        ['deploy', at('plan-2.json'), '-o', output],
        /holds .*: the profile of the plan, an input/,
      );
  });

  it('by plan partition --extract, if it holds the model, its data or the profile', async () => {
    await mkdir(at('blocks'));
    await symlink('blocks', at('blocks-link'));
    await copyFile(at('model.onnx'), at('blocks/0.onnx'));
    const args = ['--profile', at('model.profile.json'), '--blocks', '2', '--extract'];
    for (const output of ways('blocks'))
      await refused(
        ['partition', at('blocks/0.onnx'), ...args, output],
        /--extract: .* holds .*: the model, an/,
      );
    await rm(at('blocks/0.onnx'));
    await writeModel('data-in-blocks.onnx', 'blocks/0.onnx.data');
    for (const output of ways('blocks'))
      await refused(
        ['partition', at('data-in-blocks.onnx'), '--blocks', '2', '--extract', output],
        /--extract: .* holds .*: external data of the model, an input/,
      );
  });
});

describe('Two outputs of one command may not be the same file', () => {
  it('even if the file does not exist yet', async () => {
    const before = await everything();
    const ran = await plan([
      'simulate',
      at('plan.json'),
      '-o',
      at('new.json'),
      '--timeline',
      at('here/new.json'),
    ]);
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('--timeline: ') });
    expect(ran.stderr).toContain('is named for two outputs');
    const partition = ['partition', at('model.onnx'), '--profile', at('model.profile.json'), '--blocks', '2'];
    for (const output of [at('new'), at('here/new')]) {
      const { code, stderr } = await plan([...partition, '--extract', at('new'), '-o', output]);
      expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('two outputs') });
    }
    expect(await everything()).toEqual(before);
  });
});

describe('A caller of the library is refused too, in the words of the library:', () => {
  it.each<[string, () => Promise<unknown>]>([
    [
      'profileModelFile',
      () =>
        profileModelFile(at('model.onnx'), {
          ...QUICK,
          ...CUT,
          blocks: '2',
          devices: ['cpu'],
          output: at('model.onnx'),
        }),
    ],
    [
      'partitionModelFile',
      () => partitionModelFile(at('model.onnx'), { ...CUT, devices: ['cpu'], output: at('model.onnx') }),
    ],
    ['solveSpec', () => solveSpec(at('spec.json'), { output: at('spec.json') })],
    ['deployPlan', () => deployPlan(at('plan.json'), { output: at('plan.json') })],
  ])('%s()', async (_, call) => {
    await expect(call()).rejects.toThrow(/^Cannot \w+ .*: `output`: .* an input that would be replaced/);
  });
});

describe('Outputs beside the inputs', () => {
  it.each([
    'profile import csv m-A-0.csv --model m --batch 1 --cut-bytes cuts.csv',
    'profile merge model.profile.json other.profile.json',
    'solve spec.json',
    'compare spec.json --mix-file mixes.csv',
    'simulate plan.json --trace trace.csv',
  ])('are written, and written again: plan %s', async (args) => {
    const absolute = args.split(' ').map((arg) => (FILE.test(arg) ? at(arg) : arg));
    for (let i = 0; i < 2; i++)
      expect(await plan([...absolute, '-o', at('again.json')])).toMatchObject({ code: 0 });
  });
});
