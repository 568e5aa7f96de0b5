import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { inWholeRun, inWholeRunOnly } from '../cases.js';
import * as w from '../onnx/writer.js';
import { plan, type Ran } from './plan.js';

const POOLED = join(dirname(createRequire(import.meta.url).resolve('#package')), 'examples/pooled');

let folder: string;
const at = (file: string): string => join(folder, file);
const run = (...args: string[]): Promise<Ran> => plan(args, { cwd: folder });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-stdout-'));
  const graph = w.graph({
    nodes: [w.node('Relu', ['x'], ['r']), w.node('Neg', ['r'], ['y'])],
    inputs: [w.value('x', w.FLOAT, ['batch', 4])],
    outputs: [w.value('y', w.FLOAT, ['batch', 4])],
  });
  await writeFile(at('m.onnx'), w.model(graph));
  await writeFile(at('m-L4-0.csv'), '1500\n1700\n');
  await writeFile(at('cuts.txt'), '10\n0\n');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const SPEC = join(POOLED, 'spec.yaml');
const PLAN = join(POOLED, 'expected-plan.json');
const SIMULATED = ['simulate', PLAN, '--duration', '1s'];
const IMPORTED = ['profile', 'import', 'csv', 'm-L4-0.csv', '--model', 'm', '--batch', '1'];

describe('-o -', () => {
  inWholeRun('prints exactly the file that would be written', async () => {
    const written = await run('solve', SPEC, '-o', 'written.json');
    expect(written).toMatchObject({ code: 0, stdout: expect.stringContaining('requests/s') });
    const printed = await run('solve', SPEC, '-o', '-');
    expect(printed).toMatchObject({ code: 0, stderr: expect.stringContaining('requests/s') });
    expect(printed.stdout).toBe(await readFile(at('written.json'), 'utf8'));
    expect(await readdir(folder)).not.toContain('-');
  });

  it.each([
    ...inWholeRunOnly<[string, string[], string]>([
      ['comparison', ['compare', SPEC, '--sweep', 'margin=0.3..0.4:2'], 'margin'],
      ['simulation-sweep', [...SIMULATED, '--sweep', 'load=0.5:1'], 'load'],
      ['scheduler-comparison', [...SIMULATED, '--schedulers', 'fifo,reactive'], 'attainment'],
    ]),
    ['simulation-report', SIMULATED, 'in time'],
    ['profile', [...IMPORTED, '--cut-bytes', 'cuts.txt'], 'device'],
    ['profile', ['profile', 'merge', join(POOLED, 'detector.profile.json')], 'device'],
  ])('prints a %s and nothing else on stdout, and its messages on stderr: %j', async (kind, args, said) => {
    const { code, stdout, stderr } = await run(...args, '-o', '-');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ kind });
    expect(stderr).toContain(said);
  });

  inWholeRun('prints a profile, and writes no file', async () => {
    const before = await readdir(folder);
    const quick = ['--warmup', '1', '--min-runs', '1', '--min-ms', '0', '--max-ms', '5'];
    const profiled = await run('profile', 'm.onnx', '-b', '1', '--blocks', '2', ...quick, '-o', '-');
    expect(profiled).toMatchObject({ code: 0, stderr: expect.stringContaining('blocks ms') });
    const profile = JSON.parse(profiled.stdout);
    expect(profile).toMatchObject({
      kind: 'profile',
      model: { file: 'm.onnx' },
      measurement: { complete: true },
    });
    expect(await readdir(folder)).toEqual(before);
    await writeFile(at('p.json'), profiled.stdout);

    const cut = await run('partition', 'm.onnx', '--profile', 'p.json', '--blocks', '1', '-o', '-');
    expect(cut).toMatchObject({ code: 0, stderr: expect.stringContaining('sends on') });
    expect(JSON.parse(cut.stdout)).toMatchObject({
      kind: 'profile',
      model: { file: 'm.onnx' },
      blocks: [{}],
    });
  });

  it.each([
    [['solve', 'spec.yaml', '-o', '-', '--json'], '--json and -o - would each print a document there'],
    [['deploy', 'plan.json', '-o', '-'], 'it is a folder of files'],
    [['profile', 'm.onnx', '--resume', '-o', '-'], 'there is no output file to continue'],
  ])('is refused where %j gives it no meaning', async (args, said) => {
    const { code, stderr } = await run(...args);
    expect(code).toBe(2);
    expect(stderr).toContain(said);
  });
});
