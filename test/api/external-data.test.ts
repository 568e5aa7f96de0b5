import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { deployPlan, partitionModelFile, profileModelFile } from '../../src/api/index.js';
import { solveSpec } from '../../src/specs/index.js';
import { inLongRun } from '../cases.js';
import { PLAN_PROGRAM } from '../cli/plan.js';
import * as w from '../onnx/writer.js';
import { ONE_CPU } from '../specs/specs.js';

const QUICK = { warmup: 1, minRuns: 1, minMs: 1, maxMs: 50 };

let folder: string;
const at = (file: string): string => join(folder, file);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-external-'));
  const weights = w.externalFloats('v', [4], { location: 'weights.bin', offset: '0', length: '16' });
  const graph = w.graph({
    nodes: [w.node('Add', ['x', 'v'], ['a']), w.node('Mul', ['a', 'v'], ['y'])],
    initializers: [weights],
    inputs: [w.value('x', w.FLOAT, ['batch', 4])],
    outputs: [w.value('y', w.FLOAT, ['batch', 4])],
  });
  await writeFile(at('model.onnx'), w.model(graph));
  await writeFile(at('weights.bin'), new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer));
  await writeFile(at('spec.yaml'), ONE_CPU);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it('deployPlan() and partitionModelFile() refuse external data that changed since profiling', async () => {
  await profileModelFile(at('model.onnx'), {
    ...QUICK,
    blocks: '2',
    method: 'greedy',
    boundary: 'exact',
    batch: [1],
    virtual: [1],
    devices: ['cpu=cpu:1'],
    output: at('model.profile.json'),
  });
  expect((await solveSpec(at('spec.yaml'), { output: at('plan.json') })).outcome).toBe('plan');
  await deployPlan(at('plan.json'), { output: at('bundle') });
  const weights = await readFile(at('weights.bin'));
  const again = {
    profile: at('model.profile.json'),
    devices: [],
    blocks: 2,
    method: 'greedy',
    boundary: 'exact',
  } as const;
  await partitionModelFile(at('model.onnx'), again);

  await writeFile(at('weights.bin'), new Uint8Array(Float32Array.of(1, 2, 3, 5).buffer));
  await expect(deployPlan(at('plan.json'), { output: at('other') })).rejects.toThrow(
    /weights\.bin.*not the external data that was profiled/,
  );
  await expect(partitionModelFile(at('model.onnx'), again)).rejects.toThrow('other external data');
  await rm(at('weights.bin'));
  await expect(deployPlan(at('plan.json'), { output: at('other') })).rejects.toThrow(
    /weights\.bin.*there is no such file/,
  );

  await writeFile(`${folder}-outside.bin`, weights);
  await symlink(`${folder}-outside.bin`, at('weights.bin'));
  const leadsOut = /weights\.bin.*a link that leads outside the folder/;
  await expect(deployPlan(at('plan.json'), { output: at('other') })).rejects.toThrow(leadsOut);
  await expect(partitionModelFile(at('model.onnx'), again)).rejects.toThrow(leadsOut);
  await rm(`${folder}-outside.bin`);
  await rm(at('weights.bin'));

  await writeFile(at('weights.bin'), weights);
  await deployPlan(at('plan.json'), { output: at('other') });
});

inLongRun('plan deploy stopped by Ctrl-C exits with 130 and leaves no folder behind', async () => {
  // The file is sparse and would take a minute to hash.
  await truncate(at('weights.bin'), 2 ** 36);
  const args = [PLAN_PROGRAM, 'deploy', at('plan.json'), '-o', at('stopped')];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  child.stderr.once('data', () => child.kill('SIGINT'));
  const [code] = (await once(child, 'close')) as [number | null];
  expect(code).toBe(130);
  expect((await readdir(folder)).filter((name) => name.includes('stopped'))).toEqual([]);
});
