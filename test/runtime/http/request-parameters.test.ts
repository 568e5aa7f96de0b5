import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunningServer } from '../../../src/runtime/index.js';
import { echo, onePartition, serveBundle } from '../tiny-bundle.js';

let server: RunningServer;
let close: () => Promise<void>;
beforeAll(async () => {
  ({ server, close } = await serveBundle(onePartition(echo('int64'))));
});
afterAll(() => close());

const INPUT = '"name":"x","shape":[1,1],"datatype":"INT64"';

/** ask sends a request that is given in pieces of JSON: its members, and those of its input and output. */
async function ask({ members = '', input = '', output, data = '[7]' }: Partial<Record<string, string>>) {
  const outputs = output === undefined ? '' : `,"outputs":[{"name":"y"${output}}]`;
  const body = `{"inputs":[{${INPUT}${input},"data":${data}}]${outputs}${members}}`;
  const answer = await request(`${server.url}/v2/models/tiny/infer`, { method: 'POST', body });
  const text = await answer.body.text();
  return { status: answer.statusCode, headers: answer.headers, text };
}

describe('parameters', () => {
  it.each([
    ['of the request', { members: ',"parameters":{"classification":3}' }, 'parameters.classification'],
    [
      'of an output',
      { output: ',"parameters":{"classification":2}' },
      'output "y" parameters.classification',
    ],
    [
      'for shared memory of an output',
      { output: ',"parameters":{"shared_memory_region":"r","shared_memory_byte_size":8}' },
      'output "y" parameters.shared_memory_region',
    ],
    [
      'for shared memory of an input',
      { input: ',"parameters":{"shared_memory_region":"r","shared_memory_byte_size":8}' },
      'input x parameters.shared_memory_byte_size',
    ],
    [
      'of a name that objects have',
      { members: ',"parameters":{"__proto__":1,"constructor":2}' },
      'parameters.constructor',
    ],
    ['for headers', { members: ',"parameters":{"headers":{}}' }, 'parameters.headers'],
  ])('%s that are not understood are refused by name', async (_what, parts, place) => {
    const { status, text } = await ask(parts);
    expect(status).toBe(400);
    expect((JSON.parse(text) as { error: string }).error).toContain(
      `${place}: is not understood, and may change the answer; understood are `,
    );
  });

  it.each([
    [
      ',"parameters":{"sequence_id":7}',
      'parameters.sequence_id: is 7; models keep no state between requests',
    ],
    [',"parameters":{"sequence_id":"a"}', 'parameters.sequence_id: is "a"; models keep no state'],
    [',"parameters":{"sequence_start":true}', 'parameters.sequence_start: is true; models keep no state'],
    [
      ',"parameters":{"timeout":9007199254740993}',
      'parameters.timeout: is 9007199254740993; it must be a whole number of µs from 0 on',
    ],
    [',"parameters":{"timeout":-1}', 'parameters.timeout: is -1; it must be a whole number of µs from 0 on'],
    [',"parameters":{"priority":1.5}', 'parameters.priority: is 1.5; it must be a whole number from 0 on'],
    [
      ',"parameters":{"binary_data_output":1}',
      'parameters.binary_data_output: is 1; it must be true or false',
    ],
    [
      ',"parameters":{"content_type":"base64"}',
      'parameters.content_type: is "base64"; data is taken as the tensor itself',
    ],
    [',"parameters":[1]', 'parameters: is [1]; it must be an object'],
  ])('with values that are not understood are refused: %s', async (members, why) => {
    const { status, text } = await ask({ members });
    expect(status).toBe(400);
    expect((JSON.parse(text) as { error: string }).error).toContain(why);
  });

  it('by the thousand are reported in a few words', async () => {
    const members = Array.from({ length: 5000 }, (_, i) => `"p${i}${'x'.repeat(500)}":1`).join();
    const { status, text } = await ask({ members: `,"parameters":{${members}}` });
    expect([status, text.length < 2000]).toEqual([400, true]);
    expect(text).toContain('has 4995 more that are not understood');
  });

  it.each([
    ',"parameters":{}',
    ',"parameters":null',
    ',"parameters":{"classification":null}',
    ',"parameters":{"priority":3,"timeout":0,"sequence_id":0,"sequence_start":false,"sequence_end":false}',
    ',"parameters":{"sequence_id":"","content_type":"np","binary_data_output":false}',
    ',"outputs":[]',
    ',"outputs":null',
    ',"id":null',
  ])('that change nothing are taken: %s', async (members) => {
    const { status, text } = await ask({ members });
    expect(status).toBe(200);
    expect(JSON.parse(text)).toEqual({
      model_name: 'tiny',
      model_version: '1',
      outputs: [{ name: 'y', shape: [1, 1], datatype: 'INT64', data: [7] }],
    });
  });

  it('of an output come before those of the request', async () => {
    const { headers } = await ask({
      members: ',"parameters":{"binary_data_output":true}',
      output: ',"parameters":{"binary_data":false}',
    });
    expect(headers['inference-header-content-length']).toBeUndefined();
  });
});

describe('INT64', () => {
  it.each(['9007199254740993', '-9007199254740993', '9223372036854775807', '-9223372036854775808'])(
    '%s in JSON is answered as it is',
    async (digits) => {
      const { status, text } = await ask({ data: `[${digits}]` });
      expect(status).toBe(200);
      expect(text).toContain(`"data":[${digits}]`);
    },
  );

  it.each([
    [
      '"data":[9223372036854775808]',
      { data: '[9223372036854775808]' },
      'its data at 0 is 9223372036854775808, not a valid INT64',
    ],
    [
      'a fraction',
      { data: '[9007199254740993.5]' },
      'its data at 0 is 9007199254740993.5, not a valid INT64',
    ],
    [
      'a size',
      { input: ',"parameters":{"binary_data_size":9007199254740993}' },
      'its binary_data_size is 9007199254740993;',
    ],
  ])('that does not fit is quoted as it was sent: %s', async (_what, parts, why) => {
    const { status, text } = await ask(parts);
    expect([status, text]).toEqual([400, expect.stringContaining(why)]);
  });
});
