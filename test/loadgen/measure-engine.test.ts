import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { profileEngine } from '../../src/api/index.js';
import { loadArtifact } from '../../src/artifacts/index.js';
import { measureEngine } from '../../src/loadgen/index.js';
import { ingressOf } from '../../src/loadgen/measure-engine.js';
import { inWholeRun } from '../cases.js';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

interface Deployment {
  /** How long the ingress is busy with a request, of which it takes so many at a time. */
  readonly ingressMs: number;
  readonly replicas: number;
  /** How long the two stages of a request take, how long a request waits for each, and how long each hop takes. */
  readonly stageMs: number;
  readonly hopMs: number;
  readonly waitMs?: number;
  readonly scheduler?: string;
  readonly plannedRps?: number;
  /** How many rows it says that its batches had, each of which waits for the whole batch. */
  readonly batch?: number;
  readonly tellsExecutions?: boolean;
  /** How it answers what it should refuse. */
  readonly refusal?: number;
}

/** deployed serves a model of two stages as an engine would, by timers. */
async function deployed({
  scheduler = 'ray-serve',
  tellsExecutions = true,
  refusal = 400,
  waitMs = 0,
  batch = 1,
  plannedRps,
  ...took
}: Deployment) {
  let executed = 0;
  let busy = 0;
  const waiting: (() => void)[] = [];
  const taken = async () => {
    if (busy >= took.replicas) await new Promise<void>((next) => waiting.push(next));
    busy += 1;
    await sleep(took.ingressMs);
    busy -= 1;
    waiting.shift()?.();
  };
  const tensors = {
    inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 4] }],
    outputs: [{ name: 'y', datatype: 'FP32', shape: [-1] }],
  };
  const properties = {
    scheduler,
    policy: '{}',
    plan_sha256: 'a'.repeat(64),
    planned_rps: plannedRps?.toString(),
  };
  const infer = async (text: string, response: ServerResponse) => {
    await taken();
    if (text.includes('inferplan-calibration'))
      return response.writeHead(refusal).end('{"error":"no such input"}');
    for (const _ of [1, 2]) {
      await sleep(took.hopMs + waitMs + took.stageMs + took.hopMs);
      executed += 1;
    }
    return response.end(
      '{"model_name":"m","outputs":[{"name":"y","datatype":"FP32","shape":[1],"data":[1]}]}',
    );
  };
  const told = () => ({
    sequence: executed,
    requests: { answered: executed / 2, request_us: 0, queue_us: 1e3 * waitMs * executed },
    executions: [0, 1].map((partition) => ({
      pipeline: 0,
      partition,
      device_class: 'gpu',
      virtual: 1,
      batch_size: batch,
      executed: executed / 2 / batch,
      measured: executed / 2 / batch,
      p50_us: 1e3 * took.stageMs,
      p95_us: 1e3 * took.stageMs,
    })),
  });
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const path = (request.url ?? '').replace(/\?.*/, '');
    if (path === '/v2') response.end('{"name":"made","version":"1","extensions":["binary_tensor_data"]}');
    else if (path === '/v2/models/m') response.end(JSON.stringify({ name: 'm', ...tensors, properties }));
    else if (path === '/v2/models/m/executions' && tellsExecutions) response.end(JSON.stringify(told()));
    else if (path === '/v2/models/m/infer') await infer(Buffer.concat(pieces).toString('latin1'), response);
    else response.writeHead(404).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const QUICK = { model: 'm', requests: 6, refusals: 60 };
/** Timers may fire so much too early. */
const EARLY_US = 1500;

describe('measureEngine()', () => {
  inWholeRun('finds no ingress faster and no hop shorter than those of a deployment', async () => {
    const url = await deployed({ ingressMs: 20, replicas: 2, stageMs: 15, hopMs: 10 });
    const { replicas, requestUs, hopUs, requests, refusals, bodyBytes, server } = await measureEngine(
      url,
      QUICK,
    );
    expect(requestUs / replicas).toBeGreaterThan(10_000 - EARLY_US);
    expect(hopUs).toBeGreaterThan(10_000 - EARLY_US);
    expect({ requests, refusals, server }).toEqual({ requests: 6, refusals: 60, server: 'made 1' });
    expect(bodyBytes).toBeGreaterThan(16);
  });

  inWholeRun('takes waits for executions out of hops, where simulations have them already', async () => {
    const took = { ingressMs: 5, replicas: 2, stageMs: 15 };
    const straight = await measureEngine(await deployed({ ...took, hopMs: 30 }), QUICK);
    const waited = await measureEngine(await deployed({ ...took, hopMs: 30, waitMs: 30 }), QUICK);
    // A hop would come out 15 ms longer with half of the wait in it.
    expect(Math.abs(waited.hopUs - straight.hopUs)).toBeLessThan(7500);
  });

  inWholeRun(
    'asks stages at half of the planned rate, or at another, and counts a batch for each of its rows',
    async () => {
      const took = { ingressMs: 1, replicas: 20, stageMs: 15, hopMs: 20, batch: 2 };
      const url = await deployed({ ...took, plannedRps: 200 });
      const planned = await measureEngine(url, QUICK);
      expect(planned.rps).toBe(100);
      expect(planned.hopUs).toBeGreaterThan(20_000 - EARLY_US);
      const startMs = performance.now();
      const { rps } = await measureEngine(url, { ...QUICK, rps: 10 });
      // The sixth request is sent half a second after the first.
      expect(performance.now() - startMs).toBeGreaterThan(500);
      expect(rps).toBe(10);
      expect((await measureEngine(await deployed(took), QUICK)).rps).toBeUndefined();
    },
  );

  it('refuses a server that reports no executions, answers what it should refuse, or drops a request alone', async () => {
    const took = { ingressMs: 0, replicas: 9, stageMs: 0, hopMs: 0 };
    const said = async (more: Partial<Deployment>) =>
      measureEngine(await deployed({ ...took, ...more }), QUICK).then(
        () => 'measured',
        (error: Error) => error.message,
      );
    expect(await said({ tellsExecutions: false })).toMatch(/tells nothing of its executions/);
    expect(await said({ refusal: 200 })).toMatch(/does not refuse an input that it has not: it was answered/);
    expect(await said({ refusal: 503 })).toMatch(/does not refuse an input that it has not: it was dropped/);
  });
});

describe('ingressOf()', () => {
  it('finds the replicas by which an ingress takes so long for one request and passes so many', () => {
    expect(ingressOf(20_000, 100)).toEqual({ replicas: 2, requestUs: 20_000 });
    expect(ingressOf(20_000, 50)).toEqual({ replicas: 1, requestUs: 20_000 });
    // Where less passes than one replica alone would let pass, one replica takes longer under load.
    expect(ingressOf(5_000, 50)).toEqual({ replicas: 1, requestUs: 20_000 });
    expect(ingressOf(20_000, 190)).toEqual({ replicas: 4, requestUs: 4e6 / 190 });
  });
});

describe('profileEngine()', () => {
  const took = { ingressMs: 1, replicas: 2, stageMs: 1, hopMs: 1 };

  it('names the engine by the scheduler that the server reports, with the plan that was served', async () => {
    const profile = await profileEngine(await deployed({ ...took, scheduler: 'ray-serve-batch' }), QUICK);
    expect(profile).toMatchObject({
      kind: 'engine-profile',
      target: 'ray-serve',
      measurement: { planSha256: 'a'.repeat(64), requests: 6, refusals: 60, server: 'made 1' },
    });
  });

  it('writes a file that simulations read', async () => {
    const output = join(await mkdtemp(join(tmpdir(), 'engine-')), 'engine.json');
    const written = await profileEngine(await deployed(took), { ...QUICK, output });
    const { value } = await loadArtifact(output, ['engine-profile']);
    expect(value).toEqual(written);
    await rm(dirname(output), { recursive: true });
  });

  it('refuses a server of our own, and counts that are none', async () => {
    await expect(profileEngine(await deployed({ ...took, scheduler: 'room-first' }), QUICK)).rejects.toThrow(
      /runs the scheduler room-first; engines are known by the schedulers ray-serve, ray-serve-batch, triton/,
    );
    await expect(profileEngine('http://127.0.0.1:1', { ...QUICK, rps: 0 })).rejects.toThrow(/rps.*is 0/);
    await expect(profileEngine('http://127.0.0.1:1', { ...QUICK, requests: 0 })).rejects.toThrow(
      /requests.*is 0; it must be a whole number above 0/,
    );
  });
});
