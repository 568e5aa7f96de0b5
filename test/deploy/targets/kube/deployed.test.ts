import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { mobilenetv2 } from '../../../../examples/models/mobilenetv2.js';
import {
  deployPlan,
  loadServer,
  partitionModelFile,
  serveBundle,
  validateFiles,
} from '../../../../src/api/index.js';
import { type Bundle, InputError, type Profile } from '../../../../src/formats/index.js';
import { solveSpec } from '../../../../src/specs/index.js';
import { fewOf, inWholeRun, whole } from '../../../cases.js';

let folder: string;
const at = (file: string): string => join(folder, file);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-kube-'));
  await writeFile(at('tag.onnx'), mobilenetv2({ image: 32, widthMultiplier: 0.25, classes: 5 }));
  await partitionModelFile(at('tag.onnx'), {
    devices: ['cpu:1'],
    blocks: 1,
    method: 'greedy',
    boundary: 'exact',
    output: at('tag.json'),
  });
  const made = JSON.parse(await readFile(at('tag.json'), 'utf8')) as Profile;
  const blockLatencyUs = { 1: { 1: [4000], 2: [5000], 4: [7000] } };
  made.devices = { core: { provider: 'cpu', threads: 1, blockLatencyUs } };
  await writeFile(at('tag.json'), JSON.stringify(made));
  await writeFile(
    at('spec.yaml'),
    `kind: pooled
cluster: { devices: { core: { count: 2, perServer: 1 } } }
models: [{ profile: tag.json, sloMs: 2000 }]
planner: { maxPartitions: 1 }
`,
  );
  const solved = await solveSpec(at('spec.yaml'), { output: at('plan.json') });
  if (!('plan' in solved)) throw new Error(JSON.stringify(solved));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe.each(['kuberay', 'kubernetes', 'kserve'] as const)('a bundle for %s', (target) => {
  it('is deployed, found valid, and the same twice', async () => {
    const { lint } = await deployPlan(at('plan.json'), { output: at(target), target });
    expect(lint?.faults).toEqual([]);
    await deployPlan(at('plan.json'), { output: at(`${target}-again`), target });
    const files = (await readdir(at(target), { recursive: true, withFileTypes: true })).filter((one) =>
      one.isFile(),
    );
    for (const { parentPath, name } of files) {
      const path = join(parentPath, name);
      const again = await readFile(path.replace(at(target), at(`${target}-again`)));
      expect(again.equals(await readFile(path)), path).toBe(true);
    }
    expect(await validateFiles([at(target)])).toMatchObject([{ ok: true }]);
    // The same folder is replaced.
    await deployPlan(at('plan.json'), { output: at(target), target });
  });

  it('is found faulty where a person has broken a file, at its line', async () => {
    const manifest = JSON.parse(await readFile(at(`${target}-again/manifest.json`), 'utf8')) as Bundle;
    const { path } = manifest.files!.find((one) => one.path.endsWith('.yaml'))!;
    const text = await readFile(at(`${target}-again/${path}`), 'utf8');
    await writeFile(at(`${target}-again/${path}`), text.replace('image:', 'images:'));
    const [found] = await validateFiles([at(`${target}-again`)]);
    expect(found).toMatchObject({ ok: false });
    expect(JSON.stringify(found)).toMatch(new RegExp(`${path}:[0-9]+.*no field images`));
  });
});

describe.each(fewOf(['kubernetes', 'kserve'] as const, 1))('a bundle for %s', (target) => {
  inWholeRun('is served by our own server with the devices of a server of the plan alone', async () => {
    const server = await serveBundle(at(target), { port: 0, at: 'core-1' });
    try {
      expect(server.executorPids()).toHaveLength(1);
      const load = { rps: 20, durationS: whole(0.3, 1), seed: 1, output: at('load.json') };
      expect(await loadServer(server.url, load)).toMatchObject({ failures: {}, failed: 0 });
    } finally {
      await server.close();
    }
  });

  it('is not served at a place that the plan has not', async () => {
    await expect(serveBundle(at(target), { port: 0, at: 'core' })).rejects.toThrow(
      'is "core", where the plan has no device; its servers are core-0, core-1',
    );
  });
});

it('a plan that a target refuses is reported with what to do, and nothing is written', async () => {
  const made = JSON.parse(await readFile(at('tag.json'), 'utf8')) as Profile;
  made.devices = { core: { blockLatencyUs: { 1: { 1: [4000] } } } };
  await writeFile(at('unknown.json'), JSON.stringify(made));
  await writeFile(
    at('unknown.yaml'),
    (await readFile(at('spec.yaml'), 'utf8')).replace('tag.json', 'unknown.json'),
  );
  await solveSpec(at('unknown.yaml'), { output: at('unknown.plan.json') });
  for (const target of ['kubernetes', 'kserve'] as const) {
    const refused = deployPlan(at('unknown.plan.json'), { output: at('refused'), target });
    await expect(refused).rejects.toThrow(InputError);
    await expect(refused).rejects.toThrow(
      `Cannot deploy the plan for ${target}: /classes: the profiles do not say which provider runs class core`,
    );
  }
  expect(await readdir(folder)).not.toContain('refused');
  // Ray runs it by cuda, and warns of that.
  const { lint } = await deployPlan(at('unknown.plan.json'), { output: at('known'), target: 'kuberay' });
  expect(lint?.warnings.map(({ rule }) => rule)).toContain('provider');
});
