import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import protobuf from 'protobufjs';
import { install } from 'protobufjs/ext/textformat.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { givenPooled, place, straightPipeline } from '../../../../scripts/triton/made-plans.js';
import { deployPlan, serveBundle, validateFiles } from '../../../../src/api/index.js';
import { engineGraphOf } from '../../../../src/deploy/engine-graph.js';
import type { DeployedBundle } from '../../../../src/deploy/targets/target.js';
import { tritonPlanOf } from '../../../../src/deploy/targets/triton/bundle.js';
import { configsOf } from '../../../../src/deploy/targets/triton/config.js';
import { configPath } from '../../../../src/deploy/targets/triton/names.js';
import { pythonModels } from '../../../../src/deploy/targets/triton/python-models.js';
import { refusedByTriton } from '../../../../src/deploy/targets/triton/refuse.js';
import { serverFiles } from '../../../../src/deploy/targets/triton/scripts.js';
import { TRITON } from '../../../../src/deploy/targets/triton/triton.js';
import { type Bundle, type GearPlan, InputError, sha256Of } from '../../../../src/formats/index.js';
import { planTopologyOf, type StagePlan } from '../../../../src/plans/index.js';
import { ENGINE_POLICIES } from '../../../../src/serving/stage-local/index.js';
import { inWholeRun } from '../../../cases.js';
import { longestWaitsNs } from '../../../serving/stage-local/dropping-over.js';
import { deployedMade, MADE, type MadeName } from './bundles.js';

const PROTO = new URL('../../../../../shared/targets/triton-model_config.proto', import.meta.url);
const EXAMPLES = new URL('../../../../examples/', import.meta.url);

let folder: string;
const bundles = new Map<string, DeployedBundle>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-triton-'));
  for (const name of Object.keys(MADE) as MadeName[]) bundles.set(name, await deployedMade(folder, name));
}, 120_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

const bundleOf = (name: string) => bundles.get(name) as DeployedBundle;

const TOLD_DIGEST = /("inferplan\.plan_sha256" value \{ string_value: ")[0-9a-f]{64}/g;

/**
 * shownFiles joins the texts of files, of a long one its first lines; the plan's digest is that of measured files, so
 * it is named.
 */
function shownFiles(texts: ReadonlyMap<string, string>): string {
  return [...texts]
    .filter(([path]) => path !== 'lint.json' && !path.endsWith('.py'))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, text]) => {
      const shown = path.endsWith('.intervals') ? `${text.split('\n').slice(0, 3).join('\n')}\n…\n` : text;
      return `=== ${path}\n${shown.replaceAll(TOLD_DIGEST, '$1DIGEST')}`;
    })
    .join('\n');
}

/** everyByte gives the digest of every file of a folder, by path. */
async function everyByte(path: string): Promise<Record<string, string>> {
  const files = (await readdir(path, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  const read = files.map(async (file) => {
    const full = join(file.parentPath, file.name);
    return [full.slice(path.length), sha256Of(await readFile(full))] as const;
  });
  return Object.fromEntries(await Promise.all(read));
}

async function example<P extends StagePlan = StagePlan>(kind: string): Promise<P> {
  return JSON.parse(await readFile(new URL(`${kind}/expected-plan.json`, EXAMPLES), 'utf8')) as P;
}

function exampleOf(plan: StagePlan) {
  return tritonPlanOf({
    plan,
    graph: engineGraphOf(plan, { models: [], partitions: [], stages: [], devices: {} }),
  });
}

async function refusal(deploying: Promise<unknown>): Promise<string> {
  const error = await deploying.catch((one: unknown) => one);
  expect(error).toBeInstanceOf(InputError);
  return (error as InputError).message;
}

describe('a bundle for Triton', () => {
  it.each(Object.keys(MADE))('has the files that were checked in: %s', async (name) => {
    const { texts, manifest } = bundleOf(name);
    await expect(shownFiles(texts)).toMatchFileSnapshot(`golden/${name}.txt`);
    const digests = [...texts.values()].flatMap((text) => text.match(TOLD_DIGEST) ?? []);
    expect(digests).not.toEqual([]);
    for (const digest of digests) expect(digest).toContain(manifest.plan.sha256);
    const { faults, warnings } = JSON.parse(texts.get('lint.json') ?? '');
    expect(faults).toEqual([]);
    const told = warnings.map((one: { rule: string; message: string }) => `${one.rule}: ${one.message}\n`);
    await expect(told.join('')).toMatchFileSnapshot(`golden/${name}.warnings.txt`);
  });

  it('has the same bytes twice, each with the digest of its manifest, and validates', async () => {
    const bundle = join(folder, 'pooled/bundle');
    const first = await everyByte(bundle);
    await deployPlan(join(folder, 'pooled/plan.json'), { output: bundle, target: 'triton' });
    expect(await everyByte(bundle)).toEqual(first);
    const { manifest } = bundleOf('pooled');
    const named = [
      ...manifest.partitions.map(({ file, sha256 }) => ({ path: file, sha256 })),
      ...(manifest.files ?? []),
    ];
    for (const { path, sha256 } of [...named, manifest.plan]) expect(first[`/${path}`], path).toBe(sha256);
    expect(Object.keys(first)).toHaveLength(named.length + 2);
    const [checked] = await validateFiles([join(bundle, 'manifest.json')]);
    expect(checked).toMatchObject({ ok: true });
  });

  it('has a model for each stage where Triton looks for it, and scripts that can be run', async () => {
    const { manifest } = bundleOf('pooled');
    expect(manifest.partitions.map(({ file }) => file)).toEqual(
      ['eye_p0_s0', 'eye_p0_s1', 'eye_p1_s0'].map((name) => `model_repository/${name}/1/model.onnx`),
    );
    const { mode } = await stat(join(folder, 'pooled/bundle/servers/gpu_0/start.sh'));
    expect(mode & 0o111).toBe(0o111);
  });

  it('is not served by this server, which says what runs it', async () => {
    const refused = await refusal(serveBundle(join(folder, 'pooled/bundle'), {}));
    expect(refused).toContain('is "triton", which Triton runs');
  });

  it.skipIf(!existsSync(PROTO))(
    'has configurations that its own schema takes (where ../shared is installed)',
    () => {
      install();
      const { root } = protobuf.parse(readFileSync(PROTO, 'utf8'), { keepCase: true });
      const type = root.lookupType('inference.ModelConfig');
      for (const [name, { texts }] of bundles)
        for (const [path, text] of texts)
          if (path.endsWith('.pbtxt')) expect(() => type.fromText(text), `${name}: ${path}`).not.toThrow();
    },
  );
});

describe('a plan that Triton cannot run', () => {
  it.each(['pooled', 'pipeline'])(
    'is refused with its stages and a target that can: examples/%s',
    async (kind) => {
      // The examples have no models, and so no tensors.
      const split = refusedByTriton(exampleOf(await example(kind))).filter(({ message }) =>
        message.includes('not whole'),
      );
      const told = split.map(({ path, message }) => `${path}: ${message}\n`);
      await expect(told.join('')).toMatchFileSnapshot(`golden/example-${kind}.refused.txt`);
    },
  );

  inWholeRun(
    'is refused where the stages of a pipeline are on several servers, and nothing is written',
    async () => {
      const own = await mkdtemp(join(folder, 'apart-'));
      const plan = await straightPipeline(own, 'gpu', { perServer: 2 });
      const refused = await refusal(deployPlan(plan, { output: join(own, 'bundle'), target: 'triton' }));
      expect(refused).toContain('pipeline 0 of looks is not whole on each of its servers');
      expect(refused).toContain('clean on gpu-0; left on gpu-0; right on gpu-1');
      expect(refused).toContain('the target ray-serve runs such a plan');
      expect(existsSync(join(own, 'bundle'))).toBe(false);
    },
  );

  inWholeRun('is refused where a server has some of the devices of one stage only', async () => {
    const own = await mkdtemp(join(folder, 'part-'));
    const plan = await givenPooled(own, {
      on: 'gpu',
      pipelines: [
        [
          { blocks: [0, 1], batch: 2, virtual: 1, on: [...place('gpu-0', 0), ...place('gpu-1', 0)] },
          { blocks: [1, 3], batch: 2, virtual: 1, on: place('gpu-0', 1, 2) },
        ],
      ],
    });
    const refused = await refusal(deployPlan(plan, { output: join(own, 'bundle'), target: 'triton' }));
    expect(refused).toContain('eye_p0_s0 on gpu-0, gpu-1; eye_p0_s1 on gpu-0.');
  });

  it('is refused where its backend lacks a type or a provider, or nothing takes what a stage gives', () => {
    const { plan, manifest } = bundleOf('straight');
    const changed = structuredClone({ plan, manifest });
    if (changed.plan.kind !== 'pipeline-plan') throw new Error(changed.plan.kind);
    for (const stage of changed.plan.stages) for (const one of stage.inputs ?? []) one.dtype = 'bfloat16';
    for (const device of Object.values(changed.manifest.devices)) device.provider = 'webgpu';
    const graph = engineGraphOf(changed.plan, changed.manifest);
    const [first] = graph.stages as [(typeof graph.stages)[number]];
    const without = { ...graph, stages: [{ ...first, outputs: [] }, ...graph.stages.slice(1)] };
    const told = refusedByTriton(tritonPlanOf({ plan: changed.plan, graph: without })).map(
      ({ message }) => message,
    );
    expect(told).toContainEqual(expect.stringContaining('the tensor image of clean is bfloat16'));
    expect(told).toContainEqual(expect.stringContaining('cpu runs models by webgpu'));
    expect(told).toContainEqual(expect.stringContaining('no stage and no client takes what clean gives'));
  });
});

/** cascadeExample is examples/cascade with tensors, and its bundle. */
async function cascadeExample(): Promise<DeployedBundle> {
  const plan = await example<GearPlan>('cascade');
  for (const stage of plan.stages)
    Object.assign(stage, {
      inputs: [
        {
          name: 'ids',
          dtype: 'int64',
          shape: [1, 128],
          batchAxis: 0,
          variableAxes: [1],
          from: ['request.ids'],
        },
      ],
      outputs: [{ name: 'scores', dtype: 'float32', shape: [1, 2], batchAxis: 0 }],
      output: 'scores',
    });
  const stages = plan.stages.map(({ name, inputs = [], outputs = [] }) => ({
    name,
    file: `${name}.onnx`,
    sha256: '',
    inputs,
    outputs,
  }));
  const manifest = { models: [], partitions: [], stages, devices: {} };
  const triton = tritonPlanOf({ plan, graph: engineGraphOf(plan, manifest) });
  const texts = new Map([...configsOf(triton), ...pythonModels(triton), ...serverFiles(triton)]);
  return { plan, manifest: manifest as unknown as Bundle, texts };
}

it('servers that are alike are started by one script: examples/cascade with tensors', async () => {
  const texts = [...(await cascadeExample()).texts].filter(([path]) => !path.endsWith('.json'));
  await expect(shownFiles(new Map(texts))).toMatchFileSnapshot('golden/example-cascade.txt');
});

const TIMEOUT = /default_timeout_microseconds: (\d+)/;

describe('the timeouts of queues', () => {
  it.each([
    ['straight', 1],
    ['pooled', 0.9],
    ['branching', 0.9],
    ['gears', 0.9],
    ['examples/cascade', 0.9],
  ] as const)(
    'are those that the scheduler triton simulates, with a Python model first %s of them: %s',
    async (name, part) => {
      const bundle = name === 'examples/cascade' ? await cascadeExample() : bundleOf(name);
      const { plan, manifest, texts } = bundle;
      const waitsNs = longestWaitsNs(planTopologyOf(plan), ENGINE_POLICIES.triton.drop);
      const { names } = tritonPlanOf({ plan, graph: engineGraphOf(plan, manifest) });
      const written = names.stages.map((stage) => Number(texts.get(configPath(stage))?.match(TIMEOUT)?.[1]));
      waitsNs.forEach((ns, stage) => {
        expect(Math.abs(written[stage]! - (part * ns) / 1e3), names.stages[stage]).toBeLessThanOrEqual(1);
      });
    },
  );

  it('leave rows of examples/cascade time to wait, and its lint finds those that do not', async () => {
    const bundle = await cascadeExample();
    expect(TRITON.lint?.(bundle).faults).toEqual([]);
    const texts = new Map(
      [...bundle.texts].map(([path, text]) => [
        path,
        text.replace(TIMEOUT, 'default_timeout_microseconds: 1'),
      ]),
    );
    const found = TRITON.lint?.({ ...bundle, texts }).faults ?? [];
    expect(found.map(({ rule, file }) => `${rule} ${file}`)).toEqual(
      ['base', 'large', 'sentiment'].map((model) => `queue-policy ${configPath(model)}`),
    );
  });

  it('are refused where the SLO leaves nothing beside executions of rows alone', async () => {
    const { plan, manifest } = await cascadeExample();
    const told = (sloMs: number) => {
      const changed = { ...structuredClone(plan as GearPlan), sloMs };
      return refusedByTriton(tritonPlanOf({ plan: changed, graph: engineGraphOf(changed, manifest) }));
    };
    // Alone, a row takes 4.3 and 12.8 ms.
    expect(told(17.1).map(({ message }) => message)).toEqual([
      expect.stringContaining('in the queues of sentiment (0 µs), base (0 µs), large (0 µs)'),
    ]);
    expect(told(17.6).map(({ message }) => message)).toEqual([
      expect.stringContaining('in the queues of sentiment (50 µs)'),
    ]);
    expect(told(18.2)).toEqual([]);
  });
});
