import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { vitExported } from '../../examples/models/exported-vit.js';
import { mobilenetv2 } from '../../examples/models/mobilenetv2.js';
import { resnet18 } from '../../examples/models/resnet18.js';
import { unet } from '../../examples/models/unet.js';
import { deployPlan, loadServer, partitionModelFile, serveBundle, verifyLoad } from '../../src/api/index.js';
import type { TensorData, Tensors } from '../../src/execution/index.js';
import type { Bundle, PipelinePlan, Profile } from '../../src/formats/index.js';
import { planTopologyOf } from '../../src/plans/index.js';
import { streamOf, streamsOf } from '../../src/random/index.js';
import type { RunningServer, ServeEvent, ServeOptions } from '../../src/runtime/index.js';
import { liveScheduler } from '../../src/runtime/scheduler.js';
import { type LogEntry, makeCore, replay } from '../../src/serving/index.js';
import { solveSpec } from '../../src/specs/index.js';
import { cases, inWholeRun, WHOLE, whole } from '../cases.js';
import { expectPartsAddUp, metricOf } from '../runtime/time-parts.js';

const PIXELS = 32;
const IMAGES = 12;
const PLANNED_RPS = 30;
/** The tolerance is a share of max|output|: batches add up in another order than single rows. */
const TOLERANCE = 1e-4;
/** A model that nobody here wrote takes the place of one of ours where it is there. */
const TINYVIT = new URL('../../../shared/models/tinyvit_demo.onnx', import.meta.url);

const MODELS: Record<string, () => Uint8Array> = {
  detect: () => vitExported({ image: PIXELS, classes: 4 }),
  clean: () => unet({ image: PIXELS, widthMultiplier: 0.25, classes: 3, seed: 1 }),
  sharpen: () => unet({ image: PIXELS, widthMultiplier: 0.25, classes: 3, seed: 2 }),
  count: () => resnet18({ image: PIXELS, widthMultiplier: 0.25, classes: 5 }),
  tag: () => mobilenetv2({ image: PIXELS, widthMultiplier: 0.25, classes: 5 }),
};

let folder: string;
const at = (file: string): string => join(folder, file);
const sessions: Record<string, InferenceSession> = {};
/** The values of detect's logits 0 and 1 that half of the images reach. */
let bounds: number[];
let images: TensorData[];
/** What the models give for each image, run by hand in the order that the verdicts say. */
let expected: Record<string, Float32Array>[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-pipeline-'));
  for (const [name, make] of Object.entries(MODELS)) {
    if (name === 'tag' && existsSync(TINYVIT)) await copyFile(TINYVIT, at('tag.onnx'));
    else await writeFile(at(`${name}.onnx`), make());
    sessions[name] = await InferenceSession.create(at(`${name}.onnx`), { intraOpNumThreads: 1 });
    await profile(name);
  }
  const { uniform } = streamOf(3, 'images');
  images = Array.from({ length: IMAGES }, () => ({
    dtype: 'float32',
    dims: [1, 3, PIXELS, PIXELS],
    data: Float32Array.from({ length: 3 * PIXELS ** 2 }, () => 2 * uniform() - 1),
  }));
  const logits = await Promise.all(images.map((image) => byHand('detect', image)));
  bounds = [0, 1].map((i) => logits.map((row) => row.data[i] as number).sort((a, b) => a - b)[IMAGES / 2]!);
  expected = await Promise.all(images.map((image) => walk(image)));
  await writeFile(at('spec.yaml'), spec());
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** profile writes a profile of the model as one block, with made-up latencies. */
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
  const batches = made.model.fixedBatch === undefined ? [1, 2, 4] : [1];
  const latencies = Object.fromEntries(batches.map((batch) => [batch, [3000 + 1000 * batch]]));
  made.devices = { cpu: { provider: 'cpu', threads: 1, blockLatencyUs: { 1: latencies } } };
  await writeFile(output, JSON.stringify(made));
}

async function byHand(name: string, image: TensorData): Promise<TensorData & { data: Float32Array }> {
  const session = sessions[name]!;
  const feeds = { [session.inputNames[0]!]: new Tensor('float32', image.data as Float32Array, image.dims) };
  const { dims, data } = (await session.run(feeds))[session.outputNames[0]!]!;
  return { dtype: 'float32', dims, data: data as Float32Array };
}

/** walk runs the models on an image as the pipeline's conditions say. */
async function walk(image: TensorData): Promise<Record<string, Float32Array>> {
  const { data: logits } = await byHand('detect', image);
  const better = await byHand(logits[0]! >= bounds[0]! ? 'clean' : 'sharpen', image);
  const count = await byHand('count', better);
  if (!(logits[1]! >= bounds[1]!)) return { [OUT.count()]: count.data };
  const tag = await byHand('tag', image);
  return { [OUT.count()]: count.data, [OUT.tag()]: tag.data };
}

const only = (names: readonly string[]) => names[0]!;
/** The names that the pipeline's clients have for the outputs of its two ends. */
const OUT = { count: () => endName('count'), tag: () => endName('tag') };
function endName(stage: 'count' | 'tag'): string {
  const [count, tag] = [only(sessions.count!.outputNames), only(sessions.tag!.outputNames)];
  const own = stage === 'count' ? count : tag;
  return count === tag ? `${stage}.${own}` : own;
}

function spec(): string {
  const input = (name: string) => only(sessions[name]!.inputNames);
  const output = (name: string) => only(sessions[name]!.outputNames);
  const logits = output('detect');
  const image = `request.${input('detect')}`;
  const stage = (name: string, from: string, batch: number) =>
    `  - { name: ${name}, profile: ${name}.json, batch: ${batch}, inputs: { '${input(name)}': ${from} }`;
  return `kind: pipeline
name: looks
cluster: { devices: { cpu: { count: 2, memoryGiB: 1 } } }
stages:
${stage('detect', image, 4)},
      next: [ { to: clean, probability: 0.5, when: { output: ${logits}, index: 0, atLeast: ${bounds[0]} } },
              { to: sharpen, probability: 0.5 },
              { to: tag, probability: 0.5, when: { output: ${logits}, index: 1, atLeast: ${bounds[1]} } } ] }
${stage('clean', image, 4)}, next: [count] }
${stage('sharpen', image, 4)}, next: [count] }
${stage('count', `[clean.${output('clean')}, sharpen.${output('sharpen')}]`, 4)} }
${stage('tag', image, 1)} }
exclusive: [[clean, sharpen]]
shared:
  - { device: cpu, stages: [detect, clean, sharpen], replicas: 1 }
  - { device: cpu, stages: [count, tag], replicas: 1 }
sloMs: 4000
rps: ${PLANNED_RPS}
planner: { method: given }
`;
}

async function deployed(): Promise<Bundle> {
  const solved = await solveSpec(at('spec.yaml'), { output: at('plan.json') });
  if (solved.outcome !== 'pipeline-plan') throw new Error(JSON.stringify(solved));
  await deployPlan(at('plan.json'), { output: at('bundle') });
  return JSON.parse(await readFile(at('bundle/manifest.json'), 'utf8')) as Bundle;
}

/** isRight says whether an answer has exactly the outputs of the way that its image takes. */
function isRight(index: number, outputs: Tensors): boolean {
  const right = expected[index % IMAGES]!;
  if (Object.keys(outputs).sort().join() !== Object.keys(right).sort().join()) return false;
  return Object.entries(right).every(([name, wanted]) => isNear(outputs[name]!.data as Float32Array, wanted));
}

function isNear(given: Float32Array, wanted: Float32Array): boolean {
  const most = wanted.reduce((top, value) => Math.max(top, Math.abs(value)), 0);
  return (
    given.length === wanted.length &&
    wanted.every((value, i) => Math.abs(value - given[i]!) <= TOLERANCE * most)
  );
}

const inputs = () => images.map((image) => ({ [only(sessions.detect!.inputNames)]: image }));
const check = ({ index, outputs }: { index: number; outputs: Tensors }) => isRight(index, outputs);

/** served serves the bundle until the work is done. */
async function served<T>(options: ServeOptions, work: (server: RunningServer) => Promise<T>): Promise<T> {
  await deployed();
  const server = await serveBundle(at('bundle'), { port: 0, ...options });
  try {
    return await work(server);
  } finally {
    await server.close();
  }
}

/** inferred asks for one answer in JSON. */
async function inferred(server: RunningServer, rows: readonly TensorData[]): Promise<InferAnswer> {
  const data = rows.flatMap((image) => [...(image.data as Float32Array)]);
  const name = only(sessions.detect!.inputNames);
  const shape = [rows.length, 3, PIXELS, PIXELS];
  const body = JSON.stringify({ id: 'i', inputs: [{ name, datatype: 'FP32', shape, data }] });
  const response = await fetch(`${server.url}/v2/models/looks/infer`, { method: 'POST', body });
  expect(response.status).toBe(200);
  return (await response.json()) as InferAnswer;
}

interface InferAnswer {
  outputs: { name: string; shape: number[]; data: number[]; parameters?: { rows?: number[] } }[];
  parameters?: { not_taken?: string[] };
}

describe('a pipeline of five models on two executors, one of which holds three', () => {
  inWholeRun(
    'answers every request as the models do by hand, at the planned rate and at three times that',
    async () => {
      const { models, stages } = await deployed();
      expect(stages?.map(({ name }) => name)).toEqual(['detect', 'clean', 'sharpen', 'count', 'tag']);
      expect(models[0]?.outputs.map(({ name }) => name)).toEqual([OUT.count(), OUT.tag()]);
      expect(new Set(expected.map((outputs) => Object.keys(outputs).length))).toEqual(new Set([1, 2]));
      await served({}, async (server) => {
        expect(server.executorPids()).toHaveLength(2);
        const options = { durationS: cases(whole(0.4, 2), 6), seed: 1, inputs: inputs(), check };
        const planned = await loadServer(server.url, { ...options, rps: PLANNED_RPS });
        expect(planned).toMatchObject({ failures: {}, failed: 0, dropped: 0, answered: planned.sent });
        const more = await loadServer(server.url, { ...options, rps: 3 * PLANNED_RPS });
        expect(more.sent).toBeGreaterThan(2 * planned.sent);
        expect(more.failures).toEqual({});
        expect(more.inTime + more.late + more.dropped).toBe(more.sent);
        const text = await server.metricsText();
        const outcomes = [...text.matchAll(/^inferplan_outcomes_total\{.*\} (\d+)/gm)];
        expect(outcomes.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(planned.sent + more.sent);
        expectPartsAddUp(text);
        // A request never ends with detect: of clean and sharpen, one always follows.
        const lines = text.split('\n').filter((line) => /_size_count\{.*stage="(count|tag)"/.test(line));
        expect(lines).toHaveLength(2);
        const batches = metricOf(lines.join('\n'), 'inferplan_batch_size_count');
        expect(metricOf(text, 'nv_inference_exec_count')).toBe(batches);
        expect(text).toMatch(/inferplan_batch_size_count\{.*stage="sharpen"\} [1-9]/);
        expect(text).toMatch(new RegExp(`^nv_inference_count\\{.*\\} ${planned.sent + more.answered}$`, 'm'));
      });
    },
  );

  inWholeRun(
    'loses no request and answers none wrong while its executors are killed, and its log replays',
    async () => {
      const log: LogEntry[] = [];
      await served({ onDecision: (entry) => log.push(entry) }, async (server) => {
        const killing = (async () => {
          for (const k of [0, 1]) {
            await new Promise((resolve) => setTimeout(resolve, 500));
            const pid = server.executorPids()[k]!;
            process.kill(pid, 'SIGKILL');
            const isBack = () => server.executorPids().length === 2 && !server.executorPids().includes(pid);
            while (!isBack()) await new Promise((resolve) => setTimeout(resolve, 20));
          }
        })();
        const report = await loadServer(server.url, {
          rps: PLANNED_RPS,
          durationS: 4,
          seed: 2,
          inputs: inputs(),
          check,
        });
        await killing;
        expect(report).toMatchObject({ failures: {}, failed: 0 });
        expect(report.inTime + report.late + report.dropped).toBe(report.sent);
        expect(report.answered).toBeGreaterThan(0.8 * report.sent);
        expect(await server.metricsText()).toMatch(/inferplan_device_restarts_total\{.*\} 1/);
      });
      const plan = JSON.parse(await readFile(at('bundle/plan.json'), 'utf8')) as PipelinePlan;
      const topology = planTopologyOf(plan, { transfers: 'none' });
      const { name, policy } = liveScheduler({}, { plan, topology });
      const answer = replay(log, (decisions) =>
        makeCore({ name, policy } as never, topology, { decisions, streams: streamsOf(1, 'core') }),
      );
      expect(answer).toEqual({ same: true, entries: log.length });
    },
  );

  inWholeRun('is compared with the simulation of the same requests, stage by stage', async () => {
    await served({}, async (server) => {
      const rps = PLANNED_RPS / 2;
      // So many requests that one of the sizes of batches, 1 to 4, is executed five times, however they fall.
      const options = { rps, durationS: cases(4, 6), seed: 1, inputs: inputs(), output: at('load.json') };
      const load = await loadServer(server.url, options);
      const { requests, figures, models, executions, causes, notes } = await verifyLoad(at('load.json'), {
        plan: at('bundle'),
      });
      expect(requests).toBe(load.sent);
      const figure = (name: string) => figures.find((one) => one.name === name)!;
      expect(figure('attainment')).toMatchObject({ simulated: 1, live: load.attainment });
      expect(figure('p99LatencyMs').live).toBe(load.latencyMs?.p99);
      expect(models).toEqual([]);
      const stages = ['detect', 'clean', 'sharpen', 'count', 'tag'];
      expect([...new Set(executions.map(({ stage }) => stage))]).toEqual(stages);
      // Every request passes the first stage, and one of the two that follow it.
      const rows = (side: 'simulatedBatches' | 'liveBatches', ...of: string[]) =>
        executions
          .filter(({ stage }) => of.includes(stage!))
          .reduce((sum, one) => sum + one.batch * one[side], 0);
      for (const side of ['simulatedBatches', 'liveBatches'] as const) {
        expect(rows(side, 'detect')).toBe(load.sent);
        expect(rows(side, 'clean', 'sharpen')).toBe(load.sent);
        expect(rows(side, 'tag')).toBeLessThan(load.sent);
      }
      const { executions: parts, front, queueing } = causes!.meanLatencyMs;
      expect(parts + front + queueing).toBeCloseTo(figure('meanLatencyMs').difference!, 6);
      expect(notes.join()).toContain("which edges are taken by the plan's probabilities");
      // The plan itself is as good as its bundle: its server has no devices beside the planned ones either.
      const byPlan = await verifyLoad(at('load.json'), { plan: at('plan.json') });
      expect(byPlan.figures).toEqual(figures);
      const correct = [`detect=${at('corrected.json')}`];
      const { corrected } = await verifyLoad(at('load.json'), { plan: at('plan.json'), correct });
      const [before, after] = await Promise.all(
        ['detect.json', 'corrected.json'].map(async (file) => JSON.parse(await readFile(at(file), 'utf8'))),
      );
      const measured = executions.filter(({ stage, factor }) => stage === 'detect' && factor !== undefined);
      expect(measured.length).toBeGreaterThan(0);
      for (const { batch, factor } of measured)
        expect(after.devices.cpu.blockLatencyUs[1][batch][0]).toBeCloseTo(
          (factor as number) * before.devices.cpu.blockLatencyUs[1][batch][0],
          6,
        );
      expect(corrected?.[0]?.cells.map(({ batch }) => batch)).toEqual(measured.map(({ batch }) => batch));
    });
  });

  it('says in an answer which outputs were not taken, and which rows an output has', async () => {
    await served({}, async (server) => {
      const apart = [...expected.keys()].sort((a, b) => sizeOf(a) - sizeOf(b));
      const [without, withTag] = [apart[0]!, apart.at(-1)!];
      const one = await inferred(server, [images[without]!]);
      expect(one.parameters).toEqual({ not_taken: [OUT.tag()] });
      expect(one.outputs.map(({ name, parameters }) => [name, parameters])).toEqual([
        [OUT.count(), undefined],
      ]);
      const both = await inferred(server, [images[without]!, images[withTag]!, images[withTag]!]);
      expect(both.parameters).toBeUndefined();
      const [count, tag] = both.outputs;
      expect([count?.shape[0], count?.parameters]).toEqual([3, undefined]);
      expect([tag?.shape[0], tag?.parameters]).toEqual([2, { rows: [1, 2] }]);
      const right = (name: string, rows: number[]) =>
        Float32Array.from(rows.flatMap((i) => [...expected[i]![name]!]));
      expect(isNear(Float32Array.from(count!.data), right(OUT.count(), [without, withTag, withTag]))).toBe(
        true,
      );
      expect(isNear(Float32Array.from(tag!.data), right(OUT.tag(), [withTag, withTag]))).toBe(true);
    });
  });
});

if (WHOLE)
  describe('a pipeline with a device on standby', () => {
    inWholeRun(
      'brings the device up when the schedule says so, and puts it away again after its batch',
      async () => {
        const tensor = only(sessions.detect!.inputNames);
        await writeFile(
          at('spec.yaml'),
          `kind: pipeline
name: looks
cluster: { devices: { cpu: { count: 2 } } }
stages: [ { name: detect, profile: detect.json, batch: 4, device: cpu, replicas: 1, standby: 1 } ]
sloMs: 4000
planner: { method: given }
`,
        );
        const schedule = '[ { atS: 1, pool: detect, devices: 2 }, { atS: 3, pool: detect, devices: 1 } ]';
        await writeFile(at('policy.yaml'), `kind: policy\nscaling: { schedule: ${schedule} }\n`);
        const logits = await Promise.all(images.map((image) => byHand('detect', image)));
        const output = only(sessions.detect!.outputNames);
        await served({ policy: [at('policy.yaml')] }, async (server) => {
          const seen: number[] = [];
          const look = setInterval(() => {
            const { length } = server.executorPids();
            if (seen.at(-1) !== length) seen.push(length);
          }, 20);
          const report = await loadServer(server.url, {
            rps: 60,
            durationS: 4,
            seed: 4,
            inputs: images.map((image) => ({ [tensor]: image })),
            check: ({ index, outputs }) =>
              isNear(outputs[output]!.data as Float32Array, logits[index % IMAGES]!.data),
          });
          clearInterval(look);
          expect(report).toMatchObject({ failures: {}, failed: 0, dropped: 0, answered: report.sent });
          expect(seen).toEqual([1, 2, 1]);
          const text = await server.metricsText();
          expect(text).toMatch(/inferplan_device_up\{device="cpu-0\/gpu0\/0"\} 1/);
          expect(text).toMatch(/inferplan_device_up\{device="cpu-1\/gpu0\/0"\} 0/);
          expect(text).toMatch(/inferplan_device_busy_us_total\{device="cpu-1\/gpu0\/0"\} [1-9]/);
        });
      },
    );
  });

if (WHOLE)
  describe('a pipeline with a tuner', () => {
    inWholeRun(
      'brings the standby device up when more comes than was planned for, and puts it away when less does',
      async () => {
        const tensor = only(sessions.detect!.inputNames);
        // The profile's 7 ms for 4 rows make 571 requests/s: at the planned 20/s a device is busy for 3.5 % of its time.
        await writeFile(
          at('spec.yaml'),
          `kind: pipeline
name: looks
cluster: { devices: { cpu: { count: 2 } } }
stages: [ { name: detect, profile: detect.json, batch: 4, device: cpu, replicas: 1, standby: 1 } ]
sloMs: 4000
load: { arrivals: uniform, rps: 20, duration: 20s }
planner: { method: given }
serving: { scheduler: fifo, tuner: { kind: inferline, stabilityS: 2, lookBackS: 2, windowS: 1 } }
`,
        );
        const told: ServeEvent[] = [];
        await served({ onLog: (event) => told.push(event) }, async (server) => {
          const seen: number[] = [];
          const look = setInterval(() => {
            const { length } = server.executorPids();
            if (seen.at(-1) !== length) seen.push(length);
          }, 20);
          const load = (rps: number, durationS: number) =>
            loadServer(server.url, {
              rps,
              durationS,
              seed: 4,
              arrivals: 'uniform' as const,
              inputs: images.map((image) => ({ [tensor]: image })),
            });
          const reports = [await load(60, 3), await load(8, 6)];
          clearInterval(look);
          for (const report of reports)
            expect(report).toMatchObject({ failures: {}, failed: 0, dropped: 0, answered: report.sent });
          // Where this machine stalls, requests come together, and the device may come up once more.
          expect(seen.slice(0, 3)).toEqual([1, 2, 1]);
          const of = told.filter(({ kind }) => /^device/.test(kind));
          const device = 'cpu-1/gpu0/0';
          const tuned = { device, serves: ['detect'], tuner: 'inferline' };
          expect(of.slice(0, 4)).toMatchObject([
            { kind: 'deviceUp', device: 'cpu-0/gpu0/0', why: 'start' },
            { kind: 'deviceActivated', ...tuned, inUse: 2 },
            { kind: 'deviceUp', device, why: 'activation' },
            { kind: 'deviceRetired', ...tuned, inUse: 1 },
          ]);
          const counts = of.flatMap((event) => ('inLastS' in event ? [event] : []));
          // The envelope has 20 requests a second, and 60 come until the rate falls to 8.
          expect(counts[0]!.inLastS).toBeGreaterThan(1);
          expect(counts[1]!.inLastS).toBeLessThan(20);
          expect(counts[1]!.inLast10S).toBeGreaterThan(60);
        });
      },
    );
  });

const sizeOf = (image: number) => Object.keys(expected[image]!).length;
