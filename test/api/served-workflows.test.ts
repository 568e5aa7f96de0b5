import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deployPlan, partitionModelFile, serveBundle, validateFiles } from '../../src/api/index.js';
import { saveArtifact, sha256OfFile } from '../../src/artifacts/index.js';
import type { Bundle, DeployTarget, InputFile, Profile, WorkflowPlan } from '../../src/formats/index.js';
import { inWholeRun } from '../cases.js';
import { byHand, COMPONENTS, modelOf, PROGRAM, tinyPlan } from '../runtime/workflow/workflow-bundle.js';

let folder: string;
const at = (file: string): string => join(folder, file);
const NAMES = Object.keys(COMPONENTS);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-workflows-'));
  await writeFile(at('loop.mjs'), PROGRAM);
  await writeFile(at('limit.mjs'), 'export const LIMIT = 100;\n');
  for (const name of NAMES) {
    await writeFile(at(`${name}.onnx`), modelOf(name));
    await profile(name);
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** profile writes a profile of a component as one block, with made-up latencies. */
async function profile(name: string): Promise<void> {
  const output = at(`${name}.json`);
  await partitionModelFile(at(`${name}.onnx`), {
    devices: ['cpu:1'],
    blocks: 1,
    method: 'greedy',
    boundary: 'exact',
    output,
  });
  const made = JSON.parse(await readFile(output, 'utf8')) as Profile;
  const latencies = Object.fromEntries([1, 2, 3, 4].map((batch) => [batch, [400 + 100 * batch]]));
  made.devices = { cpu: { provider: 'cpu', threads: 1, blockLatencyUs: { 1: latencies } } };
  await writeFile(output, JSON.stringify(made));
}

/** savedPlan writes a plan that names what it is made from, and gives its path. */
async function savedPlan(change: (plan: WorkflowPlan) => void = () => {}): Promise<string> {
  const input = async (role: string, path: string): Promise<InputFile> => ({
    role,
    path,
    sha256: await sha256OfFile(at(path)),
  });
  const plan = structuredClone(tinyPlan());
  plan.inputs = [
    ...(await Promise.all(NAMES.map((name) => input('profile', `${name}.json`)))),
    await input('program', 'loop.mjs'),
  ];
  for (const [i, name] of NAMES.entries()) {
    const { model } = JSON.parse(await readFile(at(`${name}.json`), 'utf8')) as Profile;
    Object.assign(plan.components[i]!, { model: model.name, inputs: model.inputs, outputs: model.outputs });
    plan.components[i]!.weightBytes = 0;
  }
  change(plan);
  await saveArtifact<'workflow-plan'>(at('plan.json'), plan);
  return at('plan.json');
}

const deployed = async (target: DeployTarget = 'local', change?: (plan: WorkflowPlan) => void) =>
  deployPlan(await savedPlan(change), { output: at('bundle'), target });

describe('deployPlan(), of workflows,', () => {
  it('writes components, and programs with what they import and export', async () => {
    const { manifest } = await deployed();
    const written = JSON.parse(await readFile(at('bundle/manifest.json'), 'utf8')) as Bundle;
    expect(written).toEqual(manifest);
    expect(written.components!.map(({ name }) => name)).toEqual(NAMES);
    expect(written.programs).toMatchObject([
      { workflow: 'loop', file: 'programs/loop/loop.mjs', modules: [{ path: 'programs/loop/limit.mjs' }] },
    ]);
    const pair = (name: string) => ({ name, dtype: 'float32', shape: [1, 2], batchAxis: 0 });
    expect(written.models).toEqual([{ name: 'loop', inputs: [pair('x')], outputs: [pair('y'), pair('z')] }]);
    expect(await readFile(at('bundle/programs/loop/limit.mjs'), 'utf8')).toContain('LIMIT');
  });

  inWholeRun('writes a bundle that is served', async () => {
    await deployed();
    const server = await serveBundle(at('bundle'), { port: 0 });
    try {
      const input = { name: 'x', datatype: 'FP32', shape: [1, 2], data: [3, 5] };
      const response = await fetch(`${server.url}/v2/models/loop/infer`, {
        method: 'POST',
        body: JSON.stringify({ inputs: [input] }),
      });
      const { outputs } = (await response.json()) as { outputs: { name: string; data: number[] }[] };
      const given = Object.fromEntries(outputs.map(({ name, data }) => [name, data]));
      expect(given).toEqual(byHand([3, 5]));
    } finally {
      await server.close();
    }
  });

  it('writes a bundle that is valid', async () => {
    await deployed();
    expect(await validateFiles([at('bundle/manifest.json')])).toMatchObject([
      { ok: true, what: expect.stringContaining('bundle of loop: 3 components') },
    ]);
  });

  inWholeRun('replaces a bundle of its own, and no other folder', async () => {
    await deployed();
    await deployed();
    await writeFile(at('bundle/programs/loop/mine.txt'), 'mine');
    await expect(deployed()).rejects.toThrow('mine.txt');
    await rm(at('bundle'), { recursive: true });
  });

  it('refuses other targets, workflows without a program, and programs that have changed or are none', async () => {
    await expect(deployed('triton')).rejects.toThrow(/only this server runs.*local/s);
    await expect(
      deployed('local', ({ workflows: [loop] }) => {
        delete loop!.program;
      }),
    ).rejects.toThrow('loop has no program');
    const path = await savedPlan();
    await writeFile(at('loop.mjs'), 'export const inputs = 1;');
    await expect(deployPlan(path, { output: at('bundle') })).rejects.toThrow('has changed');
    const faults = await deployed().then(
      () => [],
      (error: Error & { faults: { path: string }[] }) => error.faults.map((one) => one.path),
    );
    expect(faults).toEqual(['loop: /inputs', 'loop: /outputs', 'loop: /default']);
    await writeFile(at('loop.mjs'), "import './missing.mjs';\nimport '../outside.mjs';\n");
    await expect(deployed()).rejects.toThrow(/missing.mjs.*no such file.*outside.mjs.*outside the folder/s);
    await writeFile(at('loop.mjs'), PROGRAM);
  });
});
