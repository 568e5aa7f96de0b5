import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RunningServer } from '../../../src/runtime/index.js';
import { receivedOn } from '../raw-connection.js';
import { serveBundle, twoPartitions } from '../tiny-bundle.js';

let server: RunningServer;
let close: () => Promise<void>;

beforeAll(async () => {
  ({ server, close } = await serveBundle(twoPartitions(1, 10_000), {}));
});
afterAll(() => close());

/** received sends a request and gives what is answered until the server ends its connection. */
async function received(sent: string): Promise<{ readonly status: number; readonly error: string }> {
  const [head = '', body = ''] = (await receivedOn(server.address.port, sent)).split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), ...JSON.parse(body) };
}

const asked = (path: string, init: RequestInit = {}): Promise<{ status: number; error?: string }> =>
  fetch(`http://127.0.0.1:${server.address.port}${path}`, init).then(async (answer) => ({
    status: answer.status,
    ...((await answer.json()) as object),
  }));

it('a request without a host, and one that expects what nobody does, are refused with that reason', async () => {
  const path = '/v2/health/live';
  expect(await received(`GET ${path} HTTP/1.1\r\n\r\n`)).toEqual({
    status: 400,
    error: 'The request has no Host header',
  });
  const expecting = `POST ${path} HTTP/1.1\r\nhost: localhost\r\nexpect: 99\r\ncontent-length: 1\r\n\r\n`;
  expect(await received(expecting)).toEqual({
    status: 417,
    error: 'The header Expect can be met where it is 100-continue',
  });
  expect(await received(`GET ${path} HTTP/1.0\r\n\r\n`)).toMatchObject({ status: 200 });
});

it.each(['/v2/models/%s', '/nothing/%s', '/v2/models/%s/ready'])(
  'a long path is quoted cut: %s',
  async (path) => {
    const { status, error = '' } = await asked(path.replace('%s', '%41'.repeat(4000)));
    expect(status).toBeGreaterThanOrEqual(400);
    expect(error.length).toBeLessThan(300);
  },
);

it('a body of spaces alone is reported as such', async () => {
  const { error } = await asked('/v2/models/tiny/infer', { method: 'POST', body: ' '.repeat(3_000_000) });
  expect(error).toContain('is not JSON: it holds spaces alone');
});

it.each(['0x10', '1e9', '1.5', '-1', '', ' 1', '1&since=2'])('the sequence %j is refused', async (since) => {
  expect(await asked(`/v2/models/tiny/executions?since=${since}`)).toMatchObject({ status: 400 });
});

it.each(['', '?since=0', '?since=17'])('executions are listed for %j', async (query) => {
  expect(await asked(`/v2/models/tiny/executions${query}`)).toMatchObject({ status: 200 });
});

it.each([
  ['[]', 400],
  ['null', 400],
  ['{"ready":"x"}', 400],
  ['{"ready":null}', 400],
  ['', 200],
  ['{}', 200],
  ['{"ready":true}', 200],
])('the index of the repository answers the body %s with %d', async (body, status) => {
  expect(await asked('/v2/repository/index', { method: 'POST', body })).toMatchObject({ status });
});
