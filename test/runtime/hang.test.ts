import { afterEach, describe, expect, it } from 'vitest';
import { driveLoad } from '../../src/loadgen/index.js';
import type { RunningServer, ServeEvent, ServeOptions } from '../../src/runtime/index.js';
import { HangLimit } from '../../src/runtime/live/hang-limit.js';
import { inWholeRun, whole } from '../cases.js';
import { inputOf, serveBundle, twoPartitions, WIDTH } from './tiny-bundle.js';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function served(options: ServeOptions = {}, sloMs = 60_000) {
  const events: ServeEvent[] = [];
  const { server, close } = await serveBundle(twoPartitions(2, sloMs), {
    onLog: (event) => events.push(event),
    ...options,
  });
  closers.push(close);
  return { server, events };
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(10);
}

const isReady = async ({ url }: RunningServer, path = '/v2/health/ready'): Promise<boolean> =>
  (await fetch(url + path)).status === 200;

function infer({ url }: RunningServer): Promise<{ status: number; body: { reason?: string } }> {
  const body = JSON.stringify({
    inputs: [{ name: 'x', shape: [1, WIDTH], datatype: 'FP32', data: [...inputOf(1).data] }],
  });
  return fetch(`${url}/v2/models/tiny/infer`, { method: 'POST', body }).then(async (response) => ({
    status: response.status,
    body: (await response.json()) as { reason?: string },
  }));
}

const kindsOf = (events: readonly ServeEvent[]): string[] => events.map(({ kind }) => kind);

describe('A server with an executor that hangs', () => {
  it('is not ready until the execution ends after all, and then answers', async () => {
    const { server, events } = await served();
    process.kill(server.executorPids()[1]!, 'SIGSTOP');
    const answer = infer(server);
    await until(() => kindsOf(events).includes('deviceHangs'));
    expect(await isReady(server)).toBe(false);
    expect(await isReady(server, '/v2/models/tiny/ready')).toBe(false);
    const index = await fetch(`${server.url}/v2/repository/index`, { method: 'POST' });
    expect(await index.json()).toMatchObject([{ name: 'tiny', state: 'UNAVAILABLE' }]);
    expect(await server.metricsText()).toMatch(/inferplan_device_up\{device="[^"]*"\} 0/);
    process.kill(server.executorPids()[1]!, 'SIGCONT');
    expect((await answer).status).toBe(200);
    expect(kindsOf(events)).toContain('deviceGoesOn');
    expect(await isReady(server)).toBe(true);
    expect(await server.metricsText()).not.toMatch(/inferplan_device_up\{device="[^"]*"\} 0/);
  });

  inWholeRun(
    'closes within the drain timeout, answers each open request with its reason, and counts each once',
    async () => {
      const { server, events } = await served({ drainTimeoutMs: 300 });
      const pids = server.executorPids();
      process.kill(pids[1]!, 'SIGSTOP');
      const answers = Promise.all(Array.from({ length: 5 }, () => infer(server)));
      await until(() => events.length > 0 && kindsOf(events).includes('deviceHangs'));
      await server.close();
      for (const { status, body } of await answers) expect([status, body.reason]).toEqual([503, 'draining']);
      for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
      expect(events).toContainEqual({ kind: 'drainTimedOut', requests: 5, ms: 300 });
      const closed = events.find((event) => event.kind === 'closed');
      expect(closed?.outcomes).toEqual({
        in_time: 0,
        late: 0,
        dropped: 5,
        failed: 0,
        cancelled: 0,
        refused: 0,
      });
      const text = await server.metricsText();
      expect(text).toMatch(/inferplan_outcomes_total\{model="tiny",outcome="dropped"\} 5/);
      expect(text).toMatch(/nv_inference_pending_request_count\{[^}]*\} 0/);
    },
  );

  inWholeRun('closes within the drain timeout also where the executor hangs with nothing open', async () => {
    const { server, events } = await served({ drainTimeoutMs: 300 });
    for (const pid of server.executorPids()) process.kill(pid, 'SIGSTOP');
    await server.close();
    expect(events).toContainEqual({ kind: 'drainTimedOut', requests: 0, ms: 300 });
  });

  it('closes within the drain timeout also while an executor is started again and hangs as it starts', async () => {
    const { server, events } = await served({ drainTimeoutMs: 300 });
    const before = server.executorPids();
    process.kill(before[0]!, 'SIGKILL');
    await until(() => kindsOf(events).includes('deviceDown'));
    const closing = server.close();
    await closing;
    expect(server.executorPids()).toEqual([]);
  });
});

inWholeRun('A server under ten times its load is ready all the time', async () => {
  const { server, events } = await served({}, 500);
  let isOver = false;
  const load = driveLoad(server.url, { rps: 4000, durationS: whole(0.15, 1), seed: 1 }).finally(() => {
    isOver = true;
  });
  let asked = 0;
  for (; !isOver; asked++) {
    expect(await isReady(server)).toBe(true);
    await sleep(20);
  }
  await load;
  expect(asked).toBeGreaterThan(5);
  expect(kindsOf(events)).not.toContain('deviceHangs');
});

describe('HangLimit', () => {
  const planned = (...ms: number[]) => ({ latencyNs: Float64Array.from(ms, (one) => 1e6 * one) });

  it('is ten times the planned time of a full batch, of the slowest class, and a second at least', () => {
    expect(new HangLimit(planned(1, 2, 5)).ms).toBe(1000);
    expect(new HangLimit(planned(100, 300)).ms).toBe(3000);
    const slow = { deviceClass: 'b', virtual: 1, ...planned(500), devices: [1] } as never;
    expect(new HangLimit({ ...planned(100), classes: [slow] }).ms).toBe(5000);
  });

  it('follows executions that take longer than planned, and little the one that did hang', () => {
    const limit = new HangLimit(planned(100));
    for (let i = 0; i < 100; i++) limit.ran(400);
    expect(limit.ms).toBeCloseTo(4000, 0);
    const other = new HangLimit(planned(100));
    other.ran(50_000);
    expect(other.ms).toBe(1000);
  });
});
