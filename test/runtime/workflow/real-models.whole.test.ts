import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Tensor } from 'onnxruntime-node';
import { afterEach, describe, expect, it } from 'vitest';
import { PHOTO_COMPONENTS, writePhotoModels } from '../../../bench/real-workflow/photo-models.js';
import { type HandModels, openByHand, photoByHand } from '../../../bench/real-workflow/photos-by-hand.js';
import { photoInput, photosFile, samplePhoto } from '../../../bench/real-workflow/sample-photos.js';
import { answersOf, type KnownAnswers, randomLoad } from '../../../bench/real-workflow/served-load.js';
import { GraphBuilder } from '../../../examples/models/graph.js';
import { mobilenetv2, resnet18 } from '../../../examples/models/index.js';
import { deployPlan, profileWorkflow, solveSpec } from '../../../src/api/index.js';
import type { Tensors } from '../../../src/execution/index.js';
import { streamOf } from '../../../src/random/index.js';
import { type RunningServer, type ServeEvent, startServer } from '../../../src/runtime/index.js';
import { inLongRun, whole } from '../../cases.js';
import { hasShared } from '../../onnx/shared.js';
import { npy } from '../../samples/numpy-files.js';

const SIZE = 32;
const CLASSES = 10;
/** The classifier is surer of less than half of the images at once. */
const ENOUGH = 0.19;
const MOST_ROUNDS = 3;

/** Each image is classified, and given more contrast until its best score is high enough, and judged by one of two experts. */
const PROGRAM = `
export const inputs = [{ name: 'image', datatype: 'FP32', shape: [-1, 3, ${SIZE}, ${SIZE}] }];
export const outputs = [
  { name: 'opinion', datatype: 'FP32', shape: [-1, ${CLASSES}] },
  { name: 'strong', datatype: 'FP32', shape: [-1, 3, ${SIZE}, ${SIZE}] },
];
export default async function images(request, { call }) {
  let image = request.in('image');
  for (let round = 0; ; round++) {
    const scores = (await call('classifier', { image }).read('logits', 'FP32')).data;
    const best = Math.max(...scores);
    if (best < ${ENOUGH} && round < ${MOST_ROUNDS}) {
      image = call('contrast', { image }).out('strong');
      continue;
    }
    const expert = scores.indexOf(best) % 2 === 0 ? 'even' : 'odd';
    const opinion = call(expert, { image }).out('logits');
    return round === 0 ? { opinion } : { opinion, strong: image };
  }
}
`;

const MODELS: Readonly<Record<string, () => Uint8Array>> = {
  classifier: () => mobilenetv2({ image: SIZE, widthMultiplier: 0.25, classes: CLASSES }),
  even: () => resnet18({ image: SIZE, widthMultiplier: 0.125, classes: CLASSES, seed: 1 }),
  odd: () => resnet18({ image: SIZE, widthMultiplier: 0.125, classes: CLASSES, seed: 2 }),
  contrast,
};

function contrast(): Uint8Array {
  const graph = new GraphBuilder('contrast', 0);
  const image = graph.input('image', 'float32', ['n', 3, SIZE, SIZE]);
  graph.node('Mul', [image, graph.floats('by', [], [1.5])], { name: 'contrast', output: 'strong' });
  graph.output('strong', ['n', 3, SIZE, SIZE]);
  return graph.bytes();
}

/** imageByHand runs the models on an image one after another: the same branch and loop, written as one computes. */
async function imageByHand(models: HandModels, data: Float32Array): Promise<Tensors> {
  let image = new Tensor('float32', data, [1, 3, SIZE, SIZE]);
  let [rounds, best] = [0, 0];
  for (;;) {
    const scores = [...((await models.classifier!.run({ image })).logits!.data as Float32Array)];
    best = scores.reduce((most, score, i) => (score > scores[most]! ? i : most), 0);
    if (scores[best]! >= ENOUGH || rounds === MOST_ROUNDS) break;
    image = (await models.contrast!.run({ image })).strong as typeof image;
    rounds += 1;
  }
  const { logits } = await models[best % 2 === 0 ? 'even' : 'odd']!.run({ image });
  const told = { opinion: logits!, ...(rounds === 0 ? {} : { strong: image }) };
  const tensors = Object.entries(told).map(([name, { type, dims, data }]) => [
    name,
    { dtype: type, dims, data },
  ]);
  return Object.fromEntries(tensors) as Tensors;
}

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function freshFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'inferplan-real-models-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** As little is measured as may be: no figure is looked at. */
const QUICK = { devices: ['cpu=cpu:1'], batch: [1, 2], minRuns: 1, minMs: 0, maxMs: 20, warmup: 0 } as const;
const COMPONENT_GIB = 0.1;
/** A device holds two components of four, with what they are sent. */
const DEVICE_GIB = 0.25;

interface Asked {
  readonly folder: string;
  readonly workflow: string;
  readonly program: string;
  readonly components: readonly string[];
  readonly rps: number;
}

/** served goes from models and samples in a folder to a server: profile, solve, deploy, serve. */
async function served({ folder, workflow, program, components, rps }: Asked) {
  const at = (file: string) => join(folder, file);
  const cluster = { devices: { cpu: { count: 2, memoryGiB: DEVICE_GIB, gpuLinkGbps: 8 } }, networkGbps: 8 };
  const spec = {
    kind: 'workflow',
    cluster,
    load: { arrivals: 'poisson', rps, duration: '10s' },
    components: components.map((name) => ({
      name,
      profile: `${name}.profile.json`,
      memoryGiB: COMPONENT_GIB,
      loadMs: 5,
    })),
    workflows: [{ name: workflow, program: 'program.mjs', runs: 'runs.jsonl' }],
  };
  await writeFile(at('program.mjs'), program);
  await writeFile(at('spec.json'), JSON.stringify(spec));
  const { recorded } = await profileWorkflow(at('spec.json'), { ...QUICK, samples: [at('samples.npy')] });
  expect(await solveSpec(at('spec.json'), { output: at('plan.json') })).toMatchObject({
    outcome: 'workflow-plan',
  });
  await deployPlan(at('plan.json'), { output: at('bundle') });
  const events: ServeEvent[] = [];
  const server = await startServer(at('bundle'), { port: 0, onLog: (event) => events.push(event) });
  closers.push(() => server.close());
  return { server, events, calls: new Map(recorded!.components.map(({ name, calls }) => [name, calls])) };
}

/** killOneUnderLoad sends all requests twice, and kills an executor at half time. */
async function killOneUnderLoad(server: RunningServer, known: KnownAnswers, rps: number) {
  const durationS = (2 * known.inputs.length) / rps;
  const load = { ...randomLoad(rps, durationS, 1), rps, durationS };
  const sending = answersOf(server.url, load, known);
  const half = setTimeout(() => process.kill(server.executorPids()[0]!, 'SIGKILL'), durationS * 500);
  const { report, equal, wrong } = await sending;
  clearTimeout(half);
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  const total = (name: string) =>
    [...metrics.matchAll(new RegExp(`^${name}\\{.*\\} (\\d+)$`, 'gm'))].reduce(
      (sum, [, n]) => sum + Number(n),
      0,
    );
  return { report, equal, wrong, total };
}

const EVICTIONS = 'inferplan_component_evictions_total';

describe('a workflow of real models, on two executors that do not hold all of them,', () => {
  it('is profiled, planned, deployed and served: every answer is that of the models by hand, also as one is killed', async () => {
    const folder = await freshFolder();
    const names = Object.keys(MODELS);
    for (const [name, make] of Object.entries(MODELS)) await writeFile(join(folder, `${name}.onnx`), make());
    const images = Array.from({ length: whole(12, 30) }, (_, i) => {
      const { uniform } = streamOf(i, 'image');
      const height = 0.2 + uniform();
      return Float32Array.from({ length: 3 * SIZE * SIZE }, () => height * (2 * uniform() - 1));
    });
    const values = new Float32Array(images.flatMap((image) => [...image]));
    await writeFile(
      join(folder, 'samples.npy'),
      npy('<f4', [images.length, 3, SIZE, SIZE], { data: values }),
    );
    const models = await openByHand(names, (name) => join(folder, `${name}.onnx`));
    const byHand = await Promise.all(images.map((image) => imageByHand(models, image)));
    const rps = 20;
    const { server, events, calls } = await served({
      folder,
      workflow: 'images',
      program: PROGRAM,
      components: names,
      rps,
    });
    // The samples take both ways and some rounds, so that there is something to get wrong.
    expect(calls.get('even')).toBeGreaterThan(0);
    expect(calls.get('odd')).toBeGreaterThan(0);
    expect(calls.get('contrast')).toBeGreaterThan(0);
    expect(byHand.some(({ strong }) => strong === undefined)).toBe(true);
    const inputs = images.map((data) => ({ image: { dtype: 'float32', dims: [1, 3, SIZE, SIZE], data } }));
    const known = { workflow: 'images', inputs, byHand };
    const { report, equal, wrong, total } = await killOneUnderLoad(server, known, rps);
    expect({ equal, wrong, failures: report.failures }).toEqual({
      equal: report.sent,
      wrong: 0,
      failures: {},
    });
    expect(events.map(({ kind }) => kind)).toContain('deviceDown');
    expect(total(EVICTIONS)).toBeGreaterThan(0);
  });

  inLongRun('gives what models by hand give, of models that others made', async ({ skip }) => {
    skip(!hasShared, 'the published models are not there');
    const folder = await freshFolder();
    await writePhotoModels(folder);
    const photos = Array.from({ length: 10 }, (_, i) => samplePhoto(0, i));
    await writeFile(join(folder, 'samples.npy'), photosFile(photos));
    const program = await readFile(
      fileURLToPath(new URL('../../../examples/workflows/programs/photos.mjs', import.meta.url)),
      'utf8',
    );
    const models = await openByHand(PHOTO_COMPONENTS, (name) => join(folder, `${name}.onnx`));
    const byHand: Tensors[] = [];
    for (const photo of photos) byHand.push(await photoByHand(models, photo));
    const rps = 4;
    const { server } = await served({
      folder,
      workflow: 'photos',
      program,
      components: PHOTO_COMPONENTS,
      rps,
    });
    const known = { workflow: 'photos', inputs: photos.map(photoInput), byHand };
    const { report, equal, wrong, total } = await killOneUnderLoad(server, known, rps);
    expect({ equal, wrong, failures: report.failures }).toEqual({
      equal: report.sent,
      wrong: 0,
      failures: {},
    });
    expect(total(EVICTIONS)).toBeGreaterThan(0);
  });
});
