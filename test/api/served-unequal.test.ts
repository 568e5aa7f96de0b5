import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { mobilenetv2 } from '../../examples/models/mobilenetv2.js';
import { deployPlan, loadServer, partitionModelFile, serveBundle, verifyLoad } from '../../src/api/index.js';
import type { PipelinePlan, Profile } from '../../src/formats/index.js';
import { planTopologyOf } from '../../src/plans/index.js';
import { streamsOf } from '../../src/random/index.js';
import { liveScheduler } from '../../src/runtime/scheduler.js';
import { type LogEntry, makeCore, replay } from '../../src/serving/index.js';
import { solveSpec } from '../../src/specs/index.js';
import { cases, whole } from '../cases.js';

const PIXELS = 32;
const RPS = 60;

let folder: string;
const at = (file: string): string => join(folder, file);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inferplan-unequal-'));
  await writeFile(at('tag.onnx'), mobilenetv2({ image: PIXELS, widthMultiplier: 0.25, classes: 5 }));
  const output = at('tag.json');
  await partitionModelFile(at('tag.onnx'), {
    devices: ['cpu:1'],
    blocks: 1,
    method: 'greedy',
    boundary: 'exact',
    output,
  });
  const made = JSON.parse(await readFile(output, 'utf8')) as Profile;
  const latencies = (factor: number) => ({
    1: { 1: [4000 * factor], 2: [5000 * factor], 4: [7000 * factor] },
  });
  made.devices = {
    quick: { provider: 'cpu', threads: 1, blockLatencyUs: latencies(1) },
    slow: { provider: 'cpu', threads: 1, blockLatencyUs: latencies(3) },
  };
  await writeFile(output, JSON.stringify(made));
  await writeFile(
    at('spec.yaml'),
    `kind: pipeline
name: tags
cluster: { devices: { quick: { count: 1 }, slow: { count: 1 } } }
stages:
  - { name: tag, profile: tag.json, batch: 4, replicas: { slow: 1, quick: 1 } }
sloMs: 2000
rps: ${RPS}
planner: { method: given }
serving: { scheduler: pard }
`,
  );
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it('a stage on two classes is solved, deployed and served by both, and its log replays', async () => {
  const solved = await solveSpec(at('spec.yaml'), { output: at('plan.json') });
  if (solved.outcome !== 'pipeline-plan') throw new Error(JSON.stringify(solved));
  await deployPlan(at('plan.json'), { output: at('bundle') });
  const manifest = JSON.parse(await readFile(at('bundle/manifest.json'), 'utf8'));
  expect(manifest.devices).toEqual({
    slow: { provider: 'cpu', threads: 1 },
    quick: { provider: 'cpu', threads: 1 },
  });
  const session = await InferenceSession.create(at('tag.onnx'), { intraOpNumThreads: 1 });
  const [input, output] = [session.inputNames[0]!, session.outputNames[0]!];
  const image = {
    dtype: 'float32',
    dims: [1, 3, PIXELS, PIXELS],
    data: Float32Array.from({ length: 3 * PIXELS ** 2 }, (_, i) => Math.sin(i)),
  };
  const right = (await session.run({ [input]: new Tensor('float32', image.data, image.dims) }))[output]!
    .data as Float32Array;
  const log: LogEntry[] = [];
  const server = await serveBundle(at('bundle'), { port: 0, onDecision: (entry) => log.push(entry) });
  const report = await (async () => {
    try {
      expect(server.executorPids()).toHaveLength(2);
      return await loadServer(server.url, {
        rps: RPS,
        durationS: whole(1, cases(3, 6)),
        seed: 1,
        inputs: [{ [input]: image }],
        output: at('load.json'),
        check: ({ outputs }) => {
          const given = outputs[output]!.data as Float32Array;
          return right.every(
            (value, i) => Math.abs(value - given[i]!) <= 1e-4 * Math.max(1, Math.abs(value)),
          );
        },
      });
    } finally {
      await server.close();
    }
  })();
  expect(report).toMatchObject({ failures: {}, failed: 0 });
  expect(report.inTime + report.late + report.dropped).toBe(report.sent);
  const plan = JSON.parse(await readFile(at('bundle/plan.json'), 'utf8')) as PipelinePlan;
  const topology = planTopologyOf(plan, { transfers: 'none' });
  const { name, policy } = liveScheduler({}, { plan, topology });
  const batches = new Set<string>();
  const answer = replay(log, (decisions) => {
    const core = makeCore({ name, policy } as never, topology, { decisions, streams: streamsOf(1, 'core') });
    const { started } = core;
    core.started = (when, batch) => {
      batches.add(topology.devices[core.batchDevice(batch)]!.deviceClass);
      started.call(core, when, batch);
    };
    return core;
  });
  expect(answer).toEqual({ same: true, entries: log.length });
  expect([...batches].sort()).toEqual(['quick', 'slow']);
  const { executions } = await verifyLoad(at('load.json'), { plan: at('bundle') });
  // What the server measured is of both classes together, which is no factor of either.
  expect(executions.every(({ factor }) => factor === undefined)).toBe(true);
  await expect(
    verifyLoad(at('load.json'), { plan: at('bundle'), correct: [`tag=${at('corrected.json')}`] }),
  ).rejects.toThrow(/stage tag has replicas of several classes/);
});
