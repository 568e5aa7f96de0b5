import { request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import type { RunningServer, ServeOptions } from '../../../src/runtime/index.js';
import { inWholeRun } from '../../cases.js';
import { expectPartsAddUp, metricOf } from '../time-parts.js';
import {
  type BundleShape,
  echo,
  inputOf,
  onePartition,
  serveBundle,
  twoPartitions,
  WIDTH,
} from '../tiny-bundle.js';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** Batches wait until they are full, as long as the SLO lets them. */
const PATIENT = { policy: ['formation=last-moment', 'formation.leaves=transfer', 'formation.stepNs=1'] };

async function serve(shape: BundleShape, options: ServeOptions = PATIENT): Promise<RunningServer> {
  const { server, close } = await serveBundle(shape, options);
  closers.push(close);
  return server;
}

async function post(server: RunningServer, input: object, parameters = {}): Promise<number> {
  const body = JSON.stringify({ inputs: [input], parameters });
  const { statusCode, body: answer } = await request(`${server.url}/v2/models/tiny/infer`, {
    method: 'POST',
    body,
  });
  await answer.dump();
  return statusCode;
}

interface Stat {
  count: number;
  ns: number;
}
type Parts = Record<'compute_input' | 'compute_infer' | 'compute_output', Stat>;
interface ModelStats {
  name: string;
  inference_count: number;
  execution_count: number;
  inference_stats: Parts & Record<'success' | 'fail' | 'queue', Stat>;
  batch_stats: (Parts & { batch_size: number })[];
}

async function statsOf(server: RunningServer, path = '/v2/models/tiny/stats'): Promise<ModelStats> {
  const { body } = await request(server.url + path);
  const { model_stats: stats } = (await body.json()) as { model_stats: ModelStats[] };
  expect(stats).toHaveLength(1);
  return stats[0]!;
}

async function metricsOf(server: RunningServer): Promise<(name: string) => number> {
  const text = await server.metricsText();
  return (name) => metricOf(text, name);
}

/** expectWhole expects that the parts of the time of answered requests are all of it, in both of its forms. */
async function expectWhole(server: RunningServer, requests: number): Promise<void> {
  const { inference_stats: stats } = await statsOf(server);
  const parts = [stats.queue, stats.compute_input, stats.compute_infer, stats.compute_output];
  expect(parts.map(({ count }) => count)).toEqual(new Array(4).fill(requests));
  expect(stats.success.count).toBe(requests);
  const sumNs = parts.reduce((sum, { ns }) => sum + ns, 0);
  expect(Math.abs(sumNs - stats.success.ns)).toBeLessThanOrEqual(parts.length);
  expectPartsAddUp(await server.metricsText());
  const metric = await metricsOf(server);
  const told = ['queue', 'compute_input', 'compute_infer', 'compute_output'].map((part) =>
    metric(`nv_inference_${part}_duration_us`),
  );
  told.forEach((us, i) => {
    expect(1e3 * us).toBeCloseTo(parts[i]!.ns, -1);
  });
  expect(1e3 * metric('nv_inference_request_duration_us')).toBeCloseTo(stats.success.ns, -1);
}

const number = (value: number) => ({ name: 'x', shape: [1, 1], datatype: 'INT64', data: [value] });

describe('the times of requests', () => {
  inWholeRun(
    'count a batch of 8 for each of its 8 requests, and add up to the time of the requests',
    async () => {
      const server = await serve(onePartition(echo('int64'), { batch: 8, slowdown: 20 }));
      for (let round = 0; round < 2; round++) {
        const statuses = await Promise.all(Array.from({ length: 8 }, (_, i) => post(server, number(i))));
        expect(statuses).toEqual(new Array(8).fill(200));
      }
      const { inference_count, execution_count, inference_stats, batch_stats } = await statsOf(server);
      expect([inference_count, execution_count]).toEqual([16, 2]);
      expect(batch_stats).toMatchObject([
        { batch_size: 8, compute_input: { count: 2 }, compute_infer: { count: 2 } },
      ]);
      const [batches] = batch_stats;
      expect(Math.abs(inference_stats.compute_infer.ns - 8 * batches!.compute_infer.ns)).toBeLessThan(100);
      // Each request is read and answered besides.
      for (const part of ['compute_input', 'compute_output'] as const)
        expect(inference_stats[part].ns).toBeGreaterThan(8 * batches![part].ns);
      await expectWhole(server, 16);
      const metric = await metricsOf(server);
      const handedOverUs = metric('inferplan_handover_us_total');
      expect(handedOverUs).toBeGreaterThan(0);
      expect(1e3 * handedOverUs).toBeLessThan(batches!.compute_input.ns + batches!.compute_output.ns);
      // The batches' times are those in which their device was busy.
      const batchesUs =
        (batches!.compute_input.ns + batches!.compute_infer.ns + batches!.compute_output.ns) / 1e3;
      expect(metric('inferplan_device_busy_us_total')).toBeGreaterThanOrEqual(batchesUs - 1);
    },
  );

  it('count a request of several rows once, however its rows are batched', async () => {
    const server = await serve(onePartition(echo('int64'), { batch: 4, slowdown: 20 }), {
      policy: ['formation=eager'],
    });
    const rows = (count: number) => ({
      ...number(0),
      shape: [count, 1],
      data: Array.from({ length: count }, (_, i) => i),
    });
    expect(await Promise.all([post(server, rows(3)), post(server, rows(4)), post(server, rows(1))])).toEqual([
      200, 200, 200,
    ]);
    const { inference_count, inference_stats } = await statsOf(server);
    expect([inference_count, inference_stats.success.count]).toEqual([8, 3]);
    await expectWhole(server, 3);
  });

  inWholeRun('add up over two partitions, and leave out requests that were dropped', async () => {
    const server = await serve(twoPartitions(4, 5000, 500, 20), { policy: ['formation=eager'] });
    const input = (i: number) => ({
      name: 'x',
      shape: [1, WIDTH],
      datatype: 'FP32',
      data: [...inputOf(i).data],
    });
    const statuses = await Promise.all([
      ...Array.from({ length: 9 }, (_, i) => post(server, input(i))),
      post(server, input(9), { timeout: 1 }),
    ]);
    expect(statuses).toEqual([...new Array(9).fill(200), 503]);
    await expectWhole(server, 9);
    expect((await statsOf(server)).inference_stats.fail.count).toBe(1);
    expect(await statsOf(server, '/v2/models/stats')).toEqual(await statsOf(server));
    expect(await statsOf(server, '/v2/models/tiny/versions/1/stats')).toEqual(await statsOf(server));
  });

  it('of all models are at a path that a model called stats has too', async () => {
    const { server, close } = await serveBundle({ ...onePartition(echo('int64')), name: 'stats' });
    closers.push(close);
    const { body } = await request(`${server.url}/v2/models/stats`);
    expect(await body.json()).toMatchObject({
      name: 'stats',
      inputs: [{ name: 'x' }],
      model_stats: [{ name: 'stats', inference_count: 0 }],
    });
  });
});
