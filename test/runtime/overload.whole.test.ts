import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadArtifact } from '../../src/artifacts/index.js';
import { topologyOf } from '../../src/plans/index.js';
import type { RunningServer } from '../../src/runtime/index.js';
import { type LogEntry, replay, StageLocalCore } from '../../src/serving/index.js';
import { inWholeRun, whole } from '../cases.js';
import { answerOf, inputOf, serveBundle, twoPartitions, WIDTH } from './tiny-bundle.js';

/** Blanks follow the JSON, so that a body is large to send and quick to serve. */
const BLANKS = 200_000;
const LARGEST = 4_000_000;
const INFER = '/v2/models/tiny/infer';
let server: RunningServer;
let folder: string;
let close: () => Promise<void>;
const log: LogEntry[] = [];

beforeAll(async () => {
  const onDecision = (entry: LogEntry) => log.push(entry);
  const options = { maxBodyBytes: LARGEST, onDecision };
  ({ server, folder, close } = await serveBundle(twoPartitions(2, whole(250, 600), 10_000, 700), options));
});
afterAll(() => close());

const bodyOf = (seed: number, blanks = BLANKS): Buffer => {
  const data = [...inputOf(seed).data];
  const json = JSON.stringify({ inputs: [{ name: 'x', shape: [1, WIDTH], datatype: 'FP32', data }] });
  return Buffer.concat([Buffer.from(json), Buffer.alloc(blanks, ' ')]);
};

interface Reply {
  status: number;
  connection: string | undefined;
  type?: string | undefined;
  retryAfter?: string | undefined;
  json: { error?: string; reason?: string; place?: string; outputs?: { name: string; data: number[] }[] };
}

async function replyOf(response: IncomingMessage): Promise<Reply> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const json = JSON.parse(Buffer.concat(chunks).toString()) as Reply['json'];
  const { connection, 'content-type': type, 'retry-after': retryAfter } = response.headers;
  return { status: response.statusCode!, connection, type, retryAfter, json };
}

async function post(body: Buffer, headers: Record<string, string> = {}): Promise<Reply> {
  const request = httpRequest(server.url + INFER, { method: 'POST', agent: false, headers });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return replyOf(response);
}

const metric = async (name: string, labels = ''): Promise<number> =>
  (await server.metricsText())
    .split('\n')
    .filter((line) => line.startsWith(name) && line.includes(labels))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);

/**
 * The most requests that are open at once. They are more than can be served in time, but few enough that a busy machine
 * can still turn them away.
 */
const MOST_OPEN = 200;
/** Twenty small requests are sent in each of these. */
const SEND_MS = 50;

/** overloaded keeps the server overloaded with small requests while `work` runs. */
async function overloaded<T>(work: () => Promise<T>): Promise<T> {
  const open = new Set<Promise<unknown>>();
  let sentUntilMs = performance.now() - 3 * SEND_MS;
  const send = () => {
    // What a late timer has missed is sent by it, so that a busy machine is offered as much.
    const periods = Math.floor((performance.now() - sentUntilMs) / SEND_MS);
    sentUntilMs += periods * SEND_MS;
    for (let i = 0; i < 20 * periods && open.size < MOST_OPEN; i++) {
      const ended = post(bodyOf(i, 0)).finally(() => open.delete(ended));
      open.add(ended);
    }
  };
  send();
  const timer = setInterval(send, SEND_MS);
  await sleep(150);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    await Promise.all(open);
  }
}

/**
 * turnedAway sends requests, a few at once, until one is refused at its headers. Between two batches there may be room.
 */
async function turnedAway<R extends Reply>(ask: () => Promise<R>): Promise<R> {
  for (let i = 0; i < 100; i++) {
    const replies = await Promise.all([ask(), ask(), ask(), ask()]);
    const refused = replies.find(({ json }) => json.reason === 'overload');
    if (refused !== undefined) return refused;
  }
  throw new Error('none was turned away');
}

/** served sends requests until an answer has results, which shows that the server no longer counts as overloaded. */
async function served<R extends Reply>(ask: () => Promise<R>): Promise<R> {
  for (let i = 0; i < 50; i++) {
    const reply = await ask();
    if (reply.status !== 503) return reply;
    await sleep(100);
  }
  throw new Error('none was served');
}

describe('a server with more large requests than it can serve', () => {
  inWholeRun(
    'gives each exactly one answer: most at their headers, and the others right and in time',
    async () => {
      const burst = async () => {
        const open: Promise<Reply>[] = [];
        for (let i = 0; i < 250; i++) {
          open.push(post(bodyOf(i)));
          if (i % 5 === 0) await sleep(2);
        }
        return await Promise.all(open);
      };
      // Until most requests have missed, the server takes lateness for chance and turns nobody away.
      await burst();
      const before = await metric('inferplan_outcomes_total');
      const turnedAwayBefore = await metric('inferplan_drops_total', 'reason="overload"');
      const replies = await burst();
      const answered = replies.filter(({ status }) => status === 200);
      const refused = replies.filter(({ json }) => json.reason === 'overload');
      expect(replies.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]);
      expect(answered.length).toBeGreaterThan(0);
      expect(refused.length).toBeGreaterThan(125);
      for (const { json, retryAfter } of refused) {
        expect(json).toMatchObject({ place: 'entry', error: expect.stringContaining('Dropped') });
        expect(json).not.toHaveProperty('stage');
        expect(retryAfter).toMatch(/^[1-9]\d*$/);
      }
      for (const [i, { status, json }] of replies.entries()) {
        if (status !== 200) continue;
        const y = json.outputs!.find(({ name }) => name === 'y')!.data;
        for (const [k, v] of answerOf(inputOf(i).data).y.entries())
          expect(Math.abs(y[k]! - v)).toBeLessThan(1e-4);
      }
      expect((await metric('inferplan_outcomes_total')) - before).toBe(250);
      expect((await metric('inferplan_drops_total', 'reason="overload"')) - turnedAwayBefore).toBe(
        refused.length,
      );
      expect(await metric('nv_inference_pending_request_count')).toBe(0);
    },
  );

  inWholeRun('uses the connection again after an answer at the headers', async () => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
    let text = '';
    let sent = 0;
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    const body = bodyOf(1);
    await overloaded(async () => {
      // A machine that others keep busy sends too few of the small requests at first.
      for (; sent < 30 || (sent < 3000 && !text.includes('"reason":"overload"')); sent++) {
        socket.write(
          `POST ${INFER} HTTP/1.1\r\nhost: localhost\r\ncontent-type: a/b\r\ncontent-length: ${body.length}\r\n\r\n`,
        );
        socket.write(body);
        await sleep(5);
      }
    });
    socket.write('GET /v2/health/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
    await once(socket, 'close');
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(sent + 1);
    expect(text).toContain('"reason":"overload"');
    expect(text).not.toContain('charset');
    expect(text).toMatch(/HTTP\/1\.1 200 OK[\s\S]*"live":true}$/);
  });

  inWholeRun('refuses a slow client with 503 before its body has arrived', async () => {
    const reply = await overloaded(() =>
      turnedAway(async () => {
        const headers = { 'content-length': '900000' };
        const request = httpRequest(server.url + INFER, { method: 'POST', agent: false, headers });
        request.on('error', () => {});
        request.write(' ');
        const [response] = (await once(request, 'response', { signal: AbortSignal.timeout(250) }).catch(
          () => [],
        )) as IncomingMessage[];
        const reply =
          response === undefined ? { status: 0, connection: undefined, json: {} } : await replyOf(response);
        request.destroy();
        return reply;
      }),
    );
    expect(reply.status).toBe(503);
  });

  inWholeRun('ends the connection of a very large body after the client has its answer', async () => {
    const reply = await overloaded(() => turnedAway(() => post(bodyOf(1, 3_000_000))));
    expect(reply).toMatchObject({ status: 503, connection: 'close', type: 'application/json' });
  });

  it('answers at once a client that asks before it sends its body', async () => {
    const asking = async (): Promise<Reply & { continued: boolean }> => {
      const body = bodyOf(2);
      const headers = { expect: '100-continue', 'content-length': String(body.length) };
      const request = httpRequest(server.url + INFER, { method: 'POST', agent: false, headers });
      let continued = false;
      request.on('continue', () => {
        continued = true;
        request.end(body);
      });
      request.on('error', () => {});
      request.flushHeaders();
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      const reply = await replyOf(response);
      if (!continued) request.destroy();
      return { ...reply, continued };
    };
    const refused = await overloaded(() => turnedAway(asking));
    expect(refused).toMatchObject({ status: 503, connection: 'close', continued: false });
    expect(await served(asking)).toMatchObject({ status: 200, continued: true });
  });

  inWholeRun('gives slow clients no place in the queue', async () => {
    const headers = { 'content-length': '900000' };
    const slow = Array.from({ length: 100 }, () => {
      const request = httpRequest(server.url + INFER, { method: 'POST', agent: false, headers });
      request.on('error', () => {});
      request.write(' ');
      return request;
    });
    await sleep(500);
    expect((await served(() => post(bodyOf(3)))).status).toBe(200);
    for (const request of slow) request.destroy();
  });

  it('writes a log that a fresh core repeats', async () => {
    const { value: plan } = await loadArtifact(`${folder}/plan.json`, ['pooled-plan']);
    const topology = topologyOf(plan, { transfers: 'none' });
    const answer = replay(log, (decisions) => new StageLocalCore(topology, decisions, { slackNs: 3e6 }));
    expect(log.filter(([word]) => word === 'turnedAway').length).toBeGreaterThan(20);
    expect(answer).toEqual({ same: true, entries: log.length });
  });
});
