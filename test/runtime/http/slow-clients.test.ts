import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningServer } from '../../../src/runtime/index.js';
import { inWholeRun } from '../../cases.js';
import { inputOf, serveBundle, twoPartitions, WIDTH } from '../tiny-bundle.js';

/** Memory comes in steps of 64 KiB. The limit is what two bodies of the announced length take together. */
const TWO_BODIES = 2 * 14 * 65_536;
const INFER = '/v2/models/tiny/infer';
let server: RunningServer;
let close: () => Promise<void>;

beforeAll(async () => {
  const limits = { maxBodyBytes: 1_000_000, maxBodiesBytes: TWO_BODIES, requestTimeoutMs: 600 };
  ({ server, close } = await serveBundle(twoPartitions(2, 5000), limits));
});
afterAll(() => close());

/** opened connects and sends `text`. Its `all` gives everything that comes until the server ends the connection. */
async function opened(text: string): Promise<{ socket: Socket; all: Promise<string> }> {
  const socket = connect(server.address.port, '127.0.0.1');
  await once(socket, 'connect');
  let heard = '';
  socket.on('data', (chunk: Buffer) => {
    heard += chunk.toString('latin1');
  });
  socket.on('error', () => {});
  const all = once(socket, 'close').then(() => heard);
  socket.write(text);
  return { socket, all };
}

/** infer asks for one inference. */
function infer(): Promise<Response> {
  const data = [...inputOf(1).data];
  const body = JSON.stringify({ inputs: [{ name: 'x', shape: [1, WIDTH], datatype: 'FP32', data }] });
  return fetch(server.url + INFER, { method: 'POST', body });
}

const unfinished = `POST ${INFER} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 900000\r\n\r\n  `;

describe('a server whose clients do not send what they announce', () => {
  it('refuses a body while two unfinished ones fill its memory, and serves again once those have timed out', async () => {
    const slow = await Promise.all([opened(unfinished), opened(unfinished)]);
    await sleep(50);
    const refused = await infer();
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.text()).toContain(`take more than ${TWO_BODIES} bytes together`);
    for (const { all } of slow) expect(await all).toContain('408 Request Timeout');
    expect((await infer()).status).toBe(200);
  });

  inWholeRun('ends connections on which nothing, or half a header, has come', async () => {
    const [silent, half] = await Promise.all([opened(''), opened('GET /v2 HTTP/1.1\r\nhost')]);
    expect(await half.all).toContain('408 Request Timeout');
    await silent.all;
  });

  it('gives memory back when a client leaves in the middle of its body', async () => {
    for (let round = 0; round < 3; round++) {
      const slow = await Promise.all([opened(unfinished), opened(unfinished)]);
      await sleep(30);
      for (const { socket } of slow) socket.destroy();
    }
    await sleep(50);
    expect((await infer()).status).toBe(200);
  });
});
