import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RunningServer } from '../../../src/runtime/index.js';
import { receivedOn } from '../raw-connection.js';
import { serveBundle, twoPartitions } from '../tiny-bundle.js';

let server: RunningServer;
let close: () => Promise<void>;

beforeAll(async () => {
  ({ server, close } = await serveBundle(twoPartitions(1, 10_000), { requestTimeoutMs: 200 }));
});
afterAll(() => close());

const received = (sent: string): Promise<string> => receivedOn(server.address.port, sent);

const POST = 'POST /v2/models/tiny/infer HTTP/1.1\r\nhost: localhost\r\n';

it.each([
  ['no HTTP at all', 'hello\r\n\r\n', 400, 'it is not valid HTTP'],
  ['two lengths', `${POST}content-length: 1\r\ncontent-length: 2\r\n\r\n`, 400, 'it is not valid HTTP'],
  ['headers that are too large', `${POST}x: ${'y'.repeat(20_000)}\r\n\r\n`, 431, 'its headers are too large'],
  ['half a request', `${POST}content-length: 9\r\n\r\n{`, 408, 'it has not come whole in time'],
])('the server answers %s once, with a reason, and ends the connection', async (_what, sent, status, why) => {
  const text = await received(sent);
  expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
  const [head = '', body = ''] = text.split('\r\n\r\n');
  expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(head.toLowerCase()).toContain('connection: close');
  expect(head.split('\r\n')).toContain('content-type: application/json');
  expect(JSON.parse(body)).toEqual({ error: expect.stringContaining(why) });
});
