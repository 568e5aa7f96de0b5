import { request } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RunningServer } from '../../../src/runtime/index.js';
import { inputOf, serveBundle, twoPartitions, WIDTH } from '../tiny-bundle.js';

let server: RunningServer;
let close: () => Promise<void>;

beforeAll(async () => {
  ({ server, close } = await serveBundle(twoPartitions(1, 10_000)));
});
afterAll(() => close());

const BODY = JSON.stringify({
  inputs: [{ name: 'x', shape: [1, WIDTH], datatype: 'FP32', data: [...inputOf(1).data] }],
});

/** statusOf posts a valid request and gives the status of the answer. */
function statusOf(headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request(`${server.url}/v2/models/tiny/infer`, { method: 'POST', headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    asked.on('error', reject).end(BODY);
  });
}

it.each([
  ['none', {}],
  ['an empty one', { 'content-type': '' }],
  ['a misspelt one', { 'content-type': '\u00ff' }],
  ['that of a form', { 'content-type': 'application/x-www-form-urlencoded' }],
  ['none, in chunks', { 'transfer-encoding': 'chunked' }],
])('the server reads a body whose content type is %s', async (_what, headers) => {
  expect(await statusOf(headers as Record<string, string>)).toBe(200);
});
