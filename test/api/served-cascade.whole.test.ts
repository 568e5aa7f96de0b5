import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resnet18 } from '../../examples/models/resnet18.js';
import {
  deployPlan,
  loadServer,
  partitionModelFile,
  serveBundle,
  simulatePlan,
  validateFiles,
  verifyLoad,
} from '../../src/api/index.js';
import { emittedHead, inputFile, sha256OfFile } from '../../src/artifacts/index.js';
import type { TensorData, Tensors } from '../../src/execution/index.js';
import { type GearPlan, type Profile, servingMarks } from '../../src/formats/index.js';
import { planTopologyOf } from '../../src/plans/index.js';
import { streamOf, streamsOf } from '../../src/random/index.js';
import { certaintyOf, predictionOf } from '../../src/records/index.js';
import type { RunningServer, ServeOptions } from '../../src/runtime/index.js';
import { liveScheduler } from '../../src/runtime/scheduler.js';
import { Decision, type LogEntry, makeCore, replay } from '../../src/serving/index.js';
import { solveSpec } from '../../src/specs/index.js';
import { inWholeRun, whole } from '../cases.js';
import { expectPartsAddUp, metricOf } from '../runtime/time-parts.js';
import { npy } from '../samples/numpy-files.js';

const PIXELS = 32;
const IMAGES = 16;
const NAMES = ['small', 'middle', 'large'] as const;
/** Batches add up in another order than single rows. */
const TOLERANCE = 1e-4;
/** Certainties near a threshold could go either way with other rounding. */
const MARGIN = 1e-3;

let folder: string;
const at = (file: string): string => join(folder, file);
const sessions: InferenceSession[] = [];
let images: TensorData[];
/** What each model says of each image by itself. */
let logits: Float32Array[][];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-cascade-'));
  for (const [i, name] of NAMES.entries()) {
    const bytes = resnet18({ image: PIXELS, widthMultiplier: 0.125 * 2 ** i, classes: 5, seed: 1 + i });
    await writeFile(at(`${name}.onnx`), bytes);
    sessions.push(await InferenceSession.create(at(`${name}.onnx`), { intraOpNumThreads: 1 }));
    await profile(name, i);
  }
  const { uniform } = streamOf(3, 'images');
  images = Array.from({ length: IMAGES }, () => ({
    dtype: 'float32',
    dims: [1, 3, PIXELS, PIXELS],
    data: Float32Array.from({ length: 3 * PIXELS ** 2 }, () => 2 * uniform() - 1),
  }));
  logits = await Promise.all(
    sessions.map((session) => Promise.all(images.map((image) => byHand(session, image)))),
  );
  await writeFile(at('records.csv'), records());
  await writeFile(at('spec.yaml'), spec());
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** profile writes a profile of the model as one block, with made-up latencies. */
async function profile(name: string, i: number): Promise<void> {
  const output = at(`${name}.json`);
  await partitionModelFile(at(`${name}.onnx`), {
    devices: ['cpu:1'],
    blocks: 1,
    method: 'greedy',
    boundary: 'exact',
    output,
  });
  const made = JSON.parse(await readFile(output, 'utf8')) as Profile;
  const us = (batch: number) => [4 ** i * (2000 + 500 * batch)];
  made.devices = {
    cpu: { provider: 'cpu', threads: 1, blockLatencyUs: { 1: { 1: us(1), 2: us(2), 4: us(4) } } },
  };
  await writeFile(output, JSON.stringify(made));
}

async function byHand(session: InferenceSession, image: TensorData): Promise<Float32Array> {
  const feeds = { [session.inputNames[0]!]: new Tensor('float32', image.data as Float32Array, image.dims) };
  return (await session.run(feeds))[session.outputNames[0]!]!.data as Float32Array;
}

/** records takes what the large model says for right. */
function records(): string {
  const lines = images.flatMap((_, sample) =>
    NAMES.map((name, model) => {
      const scores = logits[model]![sample]!;
      const label = predictionOf(logits[2]![sample]!);
      return `${sample},${name},${predictionOf(scores)},${label},${certaintyOf(scores, 'top-2')}`;
    }),
  );
  return ['sample,model,prediction,label,certainty', ...lines, ''].join('\n');
}

function spec(): string {
  const models = NAMES.map((name) => `  - { name: ${name}, profile: ${name}.json }`).join('\n');
  return `kind: cascade
name: looks
cluster: { devices: { cpu: { count: 2, memoryGiB: 1 } } }
models:
${models}
records: records.csv
slo: { latencyMs: 4000 }
load: { maxRps: 40, ranges: ${whole(1, 4)} }
planner: { method: gears, thresholds: ${whole(2, 4)} }
`;
}

/** thresholdOf is between the certainties of the middle of the images, so that about half of them go on. */
function thresholdOf(model: number): number {
  const sure = logits[model]!.map((scores) => certaintyOf(scores, 'top-2')).sort((a, b) => a - b);
  const gaps = sure.slice(5, 11).map((value, i) => ({ value, gap: (sure[6 + i] as number) - value }));
  const { value, gap } = gaps.reduce((most, one) => (one.gap > most.gap ? one : most));
  expect(gap).toBeGreaterThan(2 * MARGIN);
  return value + gap / 2;
}

/** measuredAs gives a profile whose blocks take like parts of these times on a CPU. */
function measuredAs(profile: Profile, latencyUsByBatch: readonly number[]): Profile {
  const { provider = 'cpu', threads = 1 } = profile.devices.cpu!;
  const rows = latencyUsByBatch.map((us, i) => [i + 1, profile.blocks.map(() => us / profile.blocks.length)]);
  const cpu = { provider, threads, blockLatencyUs: { 1: Object.fromEntries(rows) } };
  return { ...profile, devices: { cpu } };
}

/** What the spec's plan is, which is searched once. */
let solvedOnce: ReturnType<typeof solveSpec> | undefined;

/** givenPlan is a plan of two gears: all three models for loads up to `lowRps`, two for higher ones. */
async function givenPlan(lowRps: number): Promise<GearPlan> {
  solvedOnce ??= solveSpec(at('spec.yaml'), {});
  const solved = await solvedOnce;
  if (solved.outcome !== 'gear-plan') throw new Error(JSON.stringify(solved));
  // Its gears are others, of which nothing is promised.
  const { promise: _, accuracyInterval: __, ...plan } = solved.plan;
  const [t0, t1] = [thresholdOf(0), thresholdOf(1)];
  const step = (stage: string, threshold?: number) => ({
    stage,
    visits: 1,
    minQueue: 1,
    loadShares: [1],
    ...(threshold === undefined ? {} : { threshold }),
  });
  const gear = { share: 0.5, timeoutMs: 0, accuracy: 1, p95Ms: 1, utilization: 0.5 };
  const stages = await Promise.all(
    NAMES.map(async (name, i) => {
      const profile = JSON.parse(await readFile(at(`${name}.json`), 'utf8')) as Profile;
      const { model, blocks } = profile;
      const latencyUsByBatch = [1, 2, 3, 4].map((b) => 4 ** i * (2000 + 500 * b));
      await writeFile(at(`given-${name}.json`), JSON.stringify(measuredAs(profile, latencyUsByBatch)));
      return {
        name,
        model: model.name,
        device: 'cpu',
        virtual: 1,
        batch: 4,
        replicas: 1,
        accuracy: 1,
        latencyUsByBatch,
        ...servingMarks(model),
        weightBytes: blocks.reduce((sum, { weightBytes = 0 }) => sum + weightBytes, 0),
        inputs: model.inputs!.map((input) => ({ ...input, from: [`request.${input.name}`] })),
        outputs: model.outputs!,
        output: model.outputs![0]!.name,
        transferBytes: 4 * 3 * PIXELS * PIXELS,
      };
    }),
  );
  const profiles = await Promise.all(
    NAMES.map(async (name) => {
      const path = at(`given-${name}.json`);
      return inputFile('profile', { path, sha256: await sha256OfFile(path) }, at('plan.json'));
    }),
  );
  return {
    ...plan,
    ...emittedHead('gear-plan', profiles),
    stages,
    accuracy: 1,
    requestAccuracy: 1,
    p95Ms: 1,
    objective: { kind: 'accuracy', value: 1, bound: 1, gap: 0 },
    status: 'optimal',
    maxRps: 2 * lowRps,
    gears: [
      { ...gear, fromRps: 0, toRps: lowRps, cascade: [step('small', t0), step('middle', t1), step('large')] },
      { ...gear, fromRps: lowRps, toRps: 2 * lowRps, cascade: [step('small', t0), step('large')] },
    ],
    switching: { intervalMs: 200, alpha: 8 },
    placement: [
      { server: 'cpu-0', gpu: 0, class: 'cpu', virtual: 1, stages: ['small', 'middle'] },
      { server: 'cpu-1', gpu: 0, class: 'cpu', virtual: 1, stages: ['large'] },
    ],
    classes: { cpu: { used: 2, count: 2 } },
  };
}

/** answererOf is the model that answers an image, by the thresholds of a gear. */
function answererOf(plan: GearPlan, gear: number, image: number): number {
  for (const { stage, threshold = Number.NEGATIVE_INFINITY } of plan.gears[gear]!.cascade) {
    const model = NAMES.indexOf(stage as (typeof NAMES)[number]);
    if (certaintyOf(logits[model]![image]!, 'top-2') >= threshold) return model;
  }
  throw new Error('no model answers');
}

function isNear(given: ArrayLike<number>, wanted: Float32Array): boolean {
  const most = wanted.reduce((top, value) => Math.max(top, Math.abs(value)), 0);
  return wanted.every((value, i) => Math.abs(value - (given[i] as number)) <= TOLERANCE * most);
}

async function served<T>(
  {
    lowRps,
    change,
    ...options
  }: ServeOptions & { readonly lowRps: number; change?: (plan: GearPlan) => void },
  work: (server: RunningServer, plan: GearPlan) => Promise<T>,
) {
  const plan = await givenPlan(lowRps);
  change?.(plan);
  await writeFile(at('plan.json'), JSON.stringify(plan));
  await deployPlan(at('plan.json'), { output: at('bundle') });
  const server = await serveBundle(at('bundle'), { port: 0, ...options });
  try {
    return await work(server, plan);
  } finally {
    await server.close();
  }
}

interface InferAnswer {
  outputs: { name: string; shape: number[]; data: number[] }[];
  parameters: { answered_by: string | string[]; certainty: number | number[] };
}

async function inferred(server: RunningServer, rows: readonly number[]): Promise<InferAnswer> {
  const data = rows.flatMap((image) => [...(images[image]!.data as Float32Array)]);
  const shape = [rows.length, 3, PIXELS, PIXELS];
  const body = JSON.stringify({
    inputs: [{ name: sessions[0]!.inputNames[0], datatype: 'FP32', shape, data }],
  });
  const response = await fetch(`${server.url}/v2/models/looks/infer`, { method: 'POST', body });
  expect(response.status).toBe(200);
  return (await response.json()) as InferAnswer;
}

describe('a cascade of three models on two executors', () => {
  it('answers each image by the first model that is sure of it, and says which and how sure', async () => {
    await served({ lowRps: 1e4 }, async (server, plan) => {
      const answerers = images.map((_, image) => answererOf(plan, 0, image));
      expect(new Set(answerers)).toEqual(new Set([0, 1, 2]));
      for (const [image, model] of answerers.entries()) {
        const { outputs, parameters } = await inferred(server, [image]);
        const scores = logits[model]![image]!;
        expect(parameters.answered_by).toBe(NAMES[model]);
        expect(parameters.certainty).toBeCloseTo(certaintyOf(scores, 'top-2'), 3);
        expect(isNear(outputs[0]!.data, scores)).toBe(true);
      }
      const { outputs, parameters } = await inferred(server, [0, 1, 2]);
      expect(parameters.answered_by).toEqual([0, 1, 2].map((image) => NAMES[answerers[image]!]));
      expect(parameters.certainty).toHaveLength(3);
      const text = await server.metricsText();
      expectPartsAddUp(text);
      // A request may end with each of the models.
      expect(metricOf(text, 'nv_inference_exec_count')).toBe(metricOf(text, 'inferplan_batch_size_count'));
      const rows = [...answerers, ...answerers.slice(0, 3)];
      for (const [model, name] of NAMES.entries())
        expect(text).toContain(
          `inferplan_answered_rows_total{model="looks",stage="${name}"} ${rows.filter((one) => one === model).length}\n`,
        );
      expect(text).toContain('inferplan_gear{model="looks"} 0\n');
      expect(text).toContain('inferplan_gear_shifts_total{model="looks"} 0\n');
      const all = Float32Array.from([0, 1, 2].flatMap((image) => [...logits[answerers[image]!]![image]!]));
      expect(isNear(outputs[0]!.data, all)).toBe(true);
    });
  });

  inWholeRun(
    'asks its models in the order of the gear in force, and its counters add up for 24 clients',
    async () => {
      const turn = (plan: GearPlan) => {
        const step = { visits: 1, minQueue: 1, loadShares: [1] };
        const cascade = [
          { ...step, stage: 'large', threshold: thresholdOf(2) },
          { ...step, stage: 'middle', threshold: thresholdOf(1) },
          { ...step, stage: 'small' },
        ];
        plan.gears[0] = { ...plan.gears[0]!, cascade };
      };
      await served({ lowRps: 1e4, change: turn, policy: ['drop=never'] }, async (server, plan) => {
        const clients = Array.from({ length: 24 }, async (_, client) => {
          for (const round of [0, 1]) {
            const rows = [0, 3, 6, 9].map((image) => (client + 5 * round + image) % IMAGES);
            const answerers = rows.map((image) => answererOf(plan, 0, image));
            const { outputs, parameters } = await inferred(server, rows);
            expect(parameters.answered_by).toEqual(answerers.map((model) => NAMES[model]));
            const all = rows.flatMap((image, i) => [...logits[answerers[i]!]![image]!]);
            expect(isNear(outputs[0]!.data, Float32Array.from(all))).toBe(true);
          }
        });
        await Promise.all(clients);
        const text = await server.metricsText();
        expectPartsAddUp(text);
        expect(metricOf(text, 'nv_inference_count')).toBe(24 * 2 * 4);
        expect(metricOf(text, 'nv_inference_exec_count')).toBe(metricOf(text, 'inferplan_batch_size_count'));
      });
    },
  );

  inWholeRun('answers by the same models where batches are handed ahead', async () => {
    const options = { lowRps: 1e4, scheduler: 'reactive', policy: ['drop=never'] } as const;
    await served(options, async (server, plan) => {
      for (const image of [0, 1, 2, 3]) {
        const { parameters } = await inferred(server, [image]);
        expect(parameters.answered_by).toBe(NAMES[answererOf(plan, 0, image)]);
      }
    });
  });

  inWholeRun(
    'loses no request while executors are killed and gears change, and its log replays',
    async () => {
      const log: LogEntry[] = [];
      const inputs = images.map((image) => ({ [sessions[0]!.inputNames[0]!]: image }));
      let models: GearPlan;
      let answered = () => {};
      const loading = new Promise<void>((resolve) => {
        answered = resolve;
      });
      await served({ lowRps: 60, onDecision: (entry) => log.push(entry) }, async (server, plan) => {
        models = plan;
        const killing = (async () => {
          // A model that lacks an executor is not ready, and a load client that asks for the models then is told so.
          await loading;
          await new Promise((resolve) => setTimeout(resolve, 500));
          const pid = server.executorPids()[0]!;
          process.kill(pid, 'SIGKILL');
          const isBack = () => server.executorPids().length === 2 && !server.executorPids().includes(pid);
          while (!isBack()) await new Promise((resolve) => setTimeout(resolve, 20));
        })();
        const check = ({ index, outputs }: { index: number; outputs: Tensors }) => {
          answered();
          const given = Object.values(outputs)[0]!.data as Float32Array;
          return [0, 1].some((gear) => {
            const image = index % IMAGES;
            return isNear(given, logits[answererOf(plan, gear, image)]![image]!);
          });
        };
        const report = await loadServer(server.url, { rps: 120, durationS: 3, seed: 2, inputs, check });
        await killing;
        const text = await server.metricsText();
        const gear = metricOf(text, 'inferplan_gear');
        // Every other change is to the second gear.
        expect(metricOf(text, 'inferplan_gear_shifts_total') % 2).toBe(gear);
        expect(metricOf(text, 'inferplan_gear_shifts_total')).toBeGreaterThan(0);
        expect(metricOf(text, 'inferplan_answered_rows_total')).toBe(report.answered);
        expect(report).toMatchObject({ failures: {}, failed: 0, dropped: 0, answered: report.sent });
      });
      const topology = planTopologyOf(models!, { transfers: 'none' });
      const { name, policy } = liveScheduler({}, { plan: models!, topology });
      const answer = replay(log, (decisions) =>
        makeCore({ name, policy } as never, topology, { decisions, streams: streamsOf(1, 'core') }),
      );
      expect(answer).toEqual({ same: true, entries: log.length });
      expect(log.some(([word, kind]) => word === 'said' && kind === Decision.shift)).toBe(true);
    },
  );

  inWholeRun(
    'is compared with the simulation of the same requests, with its accuracy and the batches of each model',
    async () => {
      const solved = await solveSpec(at('spec.yaml'), { output: at('solved.json') });
      if (solved.outcome !== 'gear-plan') throw new Error(JSON.stringify(solved));
      await deployPlan(at('solved.json'), { output: at('solved') });
      const data = Float32Array.from(images.flatMap((image) => [...(image.data as Float32Array)]));
      await writeFile(at('images.npy'), npy('<f4', [IMAGES, 3, PIXELS, PIXELS], { data }));
      const labels = images.map((_, image) => predictionOf(logits[2]![image]!));
      await writeFile(at('labels.csv'), labels.join('\n'));
      const server = await serveBundle(at('solved'), { port: 0 });
      try {
        const asked = { rps: 10, durationS: 3, seed: 1, arrivals: 'uniform' } as const;
        const labelled = { samples: [at('images.npy')], labels: at('labels.csv') };
        const load = await loadServer(server.url, { ...asked, ...labelled, output: at('load.json') });
        expect(load.inputs).toEqual([
          { role: 'samples', path: 'images.npy', sha256: await sha256OfFile(at('images.npy')) },
          { role: 'labels', path: 'labels.csv', sha256: await sha256OfFile(at('labels.csv')) },
        ]);
        const { requests, figures, answeredBy, executions, notes } = await verifyLoad(at('load.json'), {
          plan: at('solved'),
        });
        expect(requests).toBe(load.sent);
        const figure = (name: string) => figures.find((one) => one.name === name)!;
        expect(figure('attainment')).toMatchObject({ simulated: 1, live: load.attainment });
        expect(figure('accuracy').live).toBe(load.labelled!.accuracy);
        const rows = (side: 'simulatedBatches' | 'liveBatches') =>
          solved.plan.stages.map(({ name }) =>
            executions
              .filter(({ stage }) => stage === name)
              .reduce((sum, one) => sum + one.batch * one[side], 0),
          );
        const [simulated, live] = [rows('simulatedBatches'), rows('liveBatches')];
        for (const side of [simulated, live])
          expect(side.reduce((sum, one) => sum + one, 0)).toBeGreaterThanOrEqual(load.sent);
        // Request k is sample k on both sides, so that in the same gears the same models answer, unless the machine is late.
        if (simulated.join() === live.join())
          expect(figure('accuracy').simulated).toBeCloseTo(load.labelled!.accuracy!, 9);
        // Whatever comes to the last model of the cascade, it answers.
        const told = Object.fromEntries(load.answeredBy!.map((one) => [one.stage, one.rows]));
        expect(Object.values(told).reduce((sum, one) => sum + one)).toBe(load.answered);
        expect(told[solved.plan.stages.at(-1)!.name] ?? 0).toBe(live.at(-1));
        expect(answeredBy!.map(({ stage }) => stage)).toEqual(solved.plan.stages.map(({ name }) => name));
        for (const side of ['simulated', 'live'] as const)
          expect(answeredBy!.reduce((sum, one) => sum + one[side], 0)).toBeCloseTo(1, 9);
        expect(notes.join()).not.toContain('other samples');
        expect(notes.join()).toContain('only where these are the same samples, in the same order');
        // Neither what is sent nor what the plan was made from or is deployed as is replaced by what is written.
        const sending = { ...asked, ...labelled, durationS: 0.1 };
        for (const kept of ['images.npy', 'labels.csv'])
          await expect(loadServer(server.url, { ...sending, output: at(kept) })).rejects.toThrow('replaced');
        const [used] = solved.plan.stages.map(({ name }) => name) as [string];
        const files = ['solved/manifest.json', `${used}.json`, `${used}.onnx`];
        for (const kept of files) {
          const plan = kept.startsWith('solved/') ? at('solved') : at('solved.json');
          await expect(verifyLoad(at('load.json'), { plan, output: at(kept) })).rejects.toThrow('replaced');
          const correct = [`${solved.plan.stages[0]?.model}=${at(kept)}`];
          await expect(verifyLoad(at('load.json'), { plan, correct })).rejects.toThrow('replaced');
          await expect(simulatePlan(plan, { output: at(kept) })).rejects.toThrow('replaced');
        }
        await loadServer(server.url, { ...asked, durationS: 0.5, output: at('random.json') });
        const random = await verifyLoad(at('random.json'), {
          plan: at('solved.json'),
          records: at('records.csv'),
        });
        expect(random.figures.find(({ name }) => name === 'accuracy')).not.toHaveProperty('live');
        expect(random.notes.join()).toContain('the load sent other samples');
      } finally {
        await server.close();
      }
    },
  );

  inWholeRun('is planned, confirmed, simulated and deployed from its spec', async () => {
    const solved = await solveSpec(at('spec.yaml'), { output: at('solved.json') });
    if (solved.outcome !== 'gear-plan') throw new Error(JSON.stringify(solved));
    const validated = await validateFiles([at('solved.json')]);
    expect(JSON.stringify(validated)).toContain('recomputed');
    await deployPlan(at('solved.json'), { output: at('solved') });
    const { report } = await simulatePlan(at('solved.json'), {
      rps: ['20'],
      duration: 20,
      seed: 1,
    });
    expect(report.cascade?.accuracy).toBeCloseTo(solved.plan.gears[1]!.accuracy, 1);
  });
});
