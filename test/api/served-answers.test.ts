import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bertExported } from '../../examples/models/exported-text.js';
import { unet } from '../../examples/models/unet.js';
import { deployPlan, loadServer, partitionModelFile, serveBundle } from '../../src/api/index.js';
import type { TensorData } from '../../src/execution/index.js';
import type { Bundle, PooledPlan, Profile } from '../../src/formats/index.js';
import { streamOf } from '../../src/random/index.js';
import { solveSpec } from '../../src/specs/index.js';
import { cases, whole } from '../cases.js';

const REQUESTS = 6;
/**
 * The tolerance is a share of max|output|: partitions are optimized one by one, and float16 rounds at the
 * cut.
 */
const TOLERANCE = { exact: 1e-4, float16: 2e-2 };

interface Subject {
  readonly bytes: () => Uint8Array;
  readonly dim: Readonly<Record<string, number>>;
  /** One request's inputs. */
  readonly inputs: (uniform: () => number) => Record<string, TensorData>;
}

const TOKENS = 12;
const IMAGES: Subject = {
  bytes: () => unet({ image: 32, widthMultiplier: 0.25 }),
  dim: {},
  inputs: (uniform) => ({
    image: {
      dtype: 'float32',
      dims: [1, 3, 32, 32],
      data: Float32Array.from({ length: 3 * 32 * 32 }, uniform),
    },
  }),
};
const TEXTS: Subject = {
  bytes: () => bertExported({ vocab: 500 }),
  dim: { sequence: TOKENS },
  inputs: (uniform) => {
    const integers = (most: number) => ({
      dtype: 'int64',
      dims: [1, TOKENS],
      data: BigInt64Array.from({ length: TOKENS }, () => BigInt(Math.floor(uniform() * most))),
    });
    return { input_ids: integers(500), attention_mask: integers(2) };
  },
};

const SUBJECTS = { unet: IMAGES, bert: TEXTS };

let folder: string;
const at = (file: string): string => join(folder, file);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-answers-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** requestsTo writes the model, and gives some requests with the model's own answers. */
async function requestsTo(subject: Subject) {
  await writeFile(at('model.onnx'), subject.bytes());
  const session = await InferenceSession.create(at('model.onnx'), { intraOpNumThreads: 1 });
  const stream = streamOf(7, 'images');
  const inputs = Array.from({ length: REQUESTS }, () => subject.inputs(stream.uniform));
  const expected: Float32Array[] = [];
  for (const input of inputs) {
    const feeds = Object.entries(input).map(([name, { dtype, data, dims }]) => [
      name,
      new Tensor(dtype as 'float32', data as Float32Array, dims),
    ]);
    const outputs = await session.run(Object.fromEntries(feeds));
    expected.push(Object.values(outputs)[0]!.data as Float32Array);
  }
  await session.release();
  return { inputs, expected };
}

/**
 * cutPlan gives the model's blocks made-up latencies under which the best plan is known. The slow device is
 * good for the first block only, so the pipeline is cut after it.
 */
async function cutPlan(boundary: 'exact' | 'float16', dim: Subject['dim']): Promise<PooledPlan> {
  await partitionModelFile(at('model.onnx'), {
    devices: ['cpu:1'],
    blocks: 3,
    method: 'greedy',
    boundary,
    output: at('layers.json'),
    dim,
  });
  const profile = JSON.parse(await readFile(at('layers.json'), 'utf8')) as Profile;
  const table = (...us: number[]) => ({ 1: { 1: us, 2: us, 4: us } });
  const device = { provider: 'cpu', threads: 1 };
  profile.devices = {
    fast: { ...device, blockLatencyUs: table(20_000, 20_000, 20_000) },
    slow: { ...device, slowdown: 1, blockLatencyUs: table(30_000, 1e9, 1e9) },
  };
  await writeFile(at('profile.json'), JSON.stringify(profile));
  await writeFile(
    at('spec.yaml'),
    'kind: pooled\ncluster: { devices: { fast: { count: 1 }, slow: { count: 1 } }, networkGbps: 100 }\n' +
      'models: [{ profile: profile.json, sloMs: 5000 }]\n',
  );
  const solved = await solveSpec(at('spec.yaml'), { output: at('plan.json') });
  if (solved.outcome !== 'plan') throw new Error(solved.outcome);
  return solved.plan;
}

describe('a bundle cut into partitions', () => {
  it.each(
    cases<(readonly ['exact' | 'float16', keyof typeof SUBJECTS])[]>(
      [...whole<['exact', 'unet'][]>([], [['exact', 'unet']]), ['exact', 'bert']],
      [
        ['exact', 'unet'],
        ['float16', 'unet'],
        ['exact', 'bert'],
        ['float16', 'bert'],
      ],
    ),
  )(
    "answers every request with the model's own outputs, batched, with boundary %s, of %s",
    async (boundary, name) => {
      const subject = SUBJECTS[name];
      const { inputs, expected } = await requestsTo(subject);
      const plan = await cutPlan(boundary, subject.dim);
      expect(plan.models[0]?.pipelines.map(({ partitions }) => partitions.length)).toEqual([2]);
      await deployPlan(at('plan.json'), { output: at('bundle') });
      const manifest = JSON.parse(await readFile(at('bundle/manifest.json'), 'utf8')) as Bundle;
      const sent = manifest.partitions[0]?.outputs.flatMap(({ dtype }) =>
        dtype.startsWith('float') ? [dtype] : [],
      );
      expect(new Set(sent)).toEqual(new Set([boundary === 'exact' ? 'float32' : 'float16']));
      const fed = manifest.partitions[1]?.inputs.map(({ name }) => name) ?? [];
      if (name === 'bert') expect(fed).toContain('input_ids');
      const server = await serveBundle(at('bundle'), { port: 0 });
      let largestDifference = 0;
      try {
        const report = await loadServer(server.url, {
          rps: whole(120, 60),
          durationS: whole(0.5, 1.5),
          seed: 1,
          inputs,
          check: ({ index, outputs }) => {
            const right = expected[index % REQUESTS]!;
            const answer = Object.values(outputs)[0]!.data as Float32Array;
            const most = right.reduce((top, value) => Math.max(top, Math.abs(value)), 0);
            const apart = right.reduce((top, value, i) => Math.max(top, Math.abs(value - answer[i]!)), 0);
            largestDifference = Math.max(largestDifference, apart / most);
            return apart <= TOLERANCE[boundary] * most;
          },
        });
        expect(report.sent).toBeGreaterThan(40);
        expect({ failed: report.failed, answered: report.answered }).toEqual({
          failed: 0,
          answered: report.sent,
        });
        if (boundary === 'float16') expect(largestDifference).toBeGreaterThan(0);
        expect(await server.metricsText()).toMatch(/inferplan_batch_size_bucket/);
      } finally {
        await server.close();
      }
    },
  );
});
