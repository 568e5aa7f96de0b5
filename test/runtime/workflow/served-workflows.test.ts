import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import {
  type RunningServer,
  type ServeEvent,
  type ServeOptions,
  startServer,
} from '../../../src/runtime/index.js';
import { inWholeRun, whole } from '../../cases.js';
import { byHand, tinyPlan, writeWorkflowBundle } from './workflow-bundle.js';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

type Row = readonly [number, number];

async function served(
  plan = tinyPlan(),
  options: ServeOptions = {},
): Promise<{ server: RunningServer; events: ServeEvent[]; folder: string }> {
  const { folder, remove } = await writeWorkflowBundle(plan);
  closers.push(remove);
  const events: ServeEvent[] = [];
  const server = await startServer(folder, { port: 0, onLog: (event) => events.push(event), ...options });
  closers.push(() => server.close());
  return { server, events, folder };
}

interface Answered {
  readonly status: number;
  readonly error?: string;
  readonly outputs?: readonly { name: string; data: number[]; parameters?: { rows?: number[] } }[];
  readonly parameters?: { readonly not_taken?: string[] };
}

async function infer(
  { url }: RunningServer,
  rows: readonly Row[],
  signal: AbortSignal | null = null,
): Promise<Answered> {
  const input = { name: 'x', datatype: 'FP32', shape: [rows.length, 2], data: rows.flat() };
  const response = await fetch(`${url}/v2/models/loop/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs: [input] }),
    signal,
  });
  return { status: response.status, ...((await response.json()) as object) };
}

/** expectByHand says that an answer is what the program gives by hand, row by row. */
function expectByHand(answer: Answered, rows: readonly Row[]): void {
  expect(answer).toMatchObject({ status: 200 });
  const hand = rows.map(byHand);
  const output = (name: string) => answer.outputs!.find((one) => one.name === name);
  expect(output('y')!.data).toEqual(hand.flatMap(({ y }) => y));
  const having = hand.flatMap(({ z }, i) => (z === undefined ? [] : [i]));
  expect(answer.parameters?.not_taken ?? []).toEqual(having.length === 0 ? ['z'] : []);
  if (having.length === 0) return;
  expect(output('z')!.data).toEqual(hand.flatMap(({ z }) => z ?? []));
  expect(output('z')!.parameters?.rows ?? hand.map((_, i) => i)).toEqual(having);
}

const drawn = streamOf(1, 'rows');
const drawRow = (): Row =>
  [1 + drawn.integer(99), drawn.integer(50)].map((n) => (n === 13 ? 14 : n)) as never;
const REQUESTS = whole(16, 40);
const drawRows = () => Array.from({ length: 1 + drawn.integer(3) }, drawRow);

async function metric(server: RunningServer, name: string): Promise<number> {
  const lines = (await server.metricsText()).split('\n').filter((line) => line.startsWith(name));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

describe('startServer(), of workflows,', () => {
  inWholeRun(
    'answers what the program gives by hand, in batches, and loads what devices do not hold',
    async () => {
      const { server, events } = await served();
      const requests = Array.from({ length: REQUESTS }, drawRows);
      const answers = await Promise.all(requests.map((rows) => infer(server, rows)));
      for (const [i, answer] of answers.entries()) expectByHand(answer, requests[i]!);
      expect(await metric(server, 'inferplan_component_loads_total')).toBeGreaterThan(0);
      expect(await metric(server, 'inferplan_component_evictions_total')).toBeGreaterThan(0);
      expect(await metric(server, 'inferplan_batch_size_sum')).toBeGreaterThan(
        await metric(server, 'inferplan_batch_size_count'),
      );
      expect(await metric(server, 'inferplan_kept_outputs')).toBe(0);
      expect(await metric(server, 'inferplan_outcomes_total{model="loop",outcome="in_time"}')).toBe(REQUESTS);
      expect(events.filter(({ kind }) => kind === 'batchFailed' || kind === 'deviceDown')).toEqual([]);
    },
  );

  inWholeRun('says by its metadata what the program exports', async () => {
    const { server } = await served();
    const told = (await (await fetch(`${server.url}/v2/models/loop`)).json()) as object;
    expect(told).toMatchObject({
      name: 'loop',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 2] }],
      outputs: [
        { name: 'y', datatype: 'FP32', shape: [-1, 2] },
        { name: 'z', datatype: 'FP32', shape: [-1, 2] },
      ],
    });
    expect((await fetch(`${server.url}/v2/health/ready`)).status).toBe(200);
  });

  inWholeRun('ends a request whose program throws with its reason, and no other', async () => {
    const { server } = await served();
    const [bad, good] = await Promise.all([
      infer(server, [
        [2, 2],
        [13, 1],
      ]),
      infer(server, [[3, 3]]),
    ]);
    expect(bad).toMatchObject({ status: 500, error: expect.stringContaining('thirteen') });
    expectByHand(good, [[3, 3]]);
  });

  inWholeRun('answers all requests although executors are killed', async () => {
    const { server, events } = await served();
    const requests = Array.from({ length: 60 }, drawRows);
    const answers: Promise<Answered>[] = [];
    for (const [i, rows] of requests.entries()) {
      answers.push(infer(server, rows));
      const [pid] = server.executorPids();
      if (i % 15 === 10 && pid !== undefined) process.kill(pid, 'SIGKILL');
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    for (const [i, answer] of (await Promise.all(answers)).entries()) expectByHand(answer, requests[i]!);
    expect(events.filter(({ kind }) => kind === 'deviceDown').length).toBeGreaterThanOrEqual(2);
  });

  it('ends a request whose component cannot be loaded with its reason, and answers others from the same devices', async () => {
    const { server, events, folder } = await served(tinyPlan({ devices: 2 }));
    const file = join(folder, 'models/square.onnx');
    const bytes = await readFile(file);
    await rm(file);
    const squared = [[200, 2]] as const;
    const bad = await infer(server, squared);
    expect(bad.status).toBe(500);
    expect(bad.error).toMatch(/could not load square: .*models\/square\.onnx is missing/);
    expectByHand(await infer(server, [[3, 3]]), [[3, 3]]);
    await writeFile(file, bytes);
    expectByHand(await infer(server, squared), squared);
    expect(events.filter(({ kind }) => kind === 'deviceDown')).toEqual([]);
    const failures = events.filter(({ kind }) => kind === 'loadFailed').length;
    expect(failures).toBeGreaterThan(0);
    expect(await metric(server, 'inferplan_component_load_failures_total')).toBe(failures);
  });

  inWholeRun('keeps nothing of requests whose clients leave in the midst', async () => {
    const { server, events } = await served();
    const leaving = Array.from({ length: 12 }, async (_, i) => {
      const left = infer(server, [[1, 1 + i]], AbortSignal.timeout(2 + 3 * i));
      await left.catch(() => {});
    });
    const staying = Array.from({ length: 6 }, drawRows);
    const answers = await Promise.all(staying.map((rows) => infer(server, rows)));
    for (const [i, answer] of answers.entries()) expectByHand(answer, staying[i]!);
    await Promise.all(leaving);
    const isOpen = async () =>
      (await metric(server, 'nv_inference_pending_request_count')) > 0 ||
      (await metric(server, 'inferplan_kept_outputs')) > 0;
    while (await isOpen()) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await metric(server, 'inferplan_kept_output_bytes')).toBe(0);
    expect(events.filter(({ kind }) => kind === 'deviceDown')).toEqual([]);
  });

  inWholeRun('answers what is open when it closes', async () => {
    const { server } = await served();
    const requests = Array.from({ length: 10 }, drawRows);
    const answers = requests.map((rows) => infer(server, rows));
    const isPending = async () => (await metric(server, 'nv_inference_pending_request_count')) > 0;
    while (!(await isPending())) await new Promise((resolve) => setImmediate(resolve));
    await server.close();
    const taken = (await Promise.allSettled(answers)).flatMap((one, i) =>
      one.status === 'fulfilled' && one.value.status === 200
        ? [{ answer: one.value, rows: requests[i]! }]
        : [],
    );
    for (const { answer, rows } of taken) expectByHand(answer, rows);
    expect(taken.length).toBeGreaterThan(0);
  });
});
