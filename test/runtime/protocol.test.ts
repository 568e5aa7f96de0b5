import { request as httpRequest } from 'node:http';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { streamOf } from '../../src/random/index.js';
import type { RunningServer } from '../../src/runtime/index.js';
import { describeInWholeRun, whole } from '../cases.js';
import { answerOf, inputOf, lookup, serveBundle, twoPartitions, WIDTH } from './tiny-bundle.js';

const LIMIT = 100_000;
let server: RunningServer;
let close: () => Promise<void>;

beforeAll(async () => {
  const options = { maxBodyBytes: LIMIT, policy: ['formation=eager'] };
  ({ server, close } = await serveBundle(twoPartitions(4, 5000), options));
});
afterAll(() => close());

interface Reply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  json: Record<string, unknown>;
  bytes: Buffer;
}

async function call(method: string, path: string, body?: string | Uint8Array, headers = {}): Promise<Reply> {
  const answer = await request(server.url + path, {
    method: method as 'GET',
    headers: { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body }),
  });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  const length = answer.headers['inference-header-content-length'];
  const text = bytes.subarray(0, length === undefined ? bytes.length : Number(length)).toString();
  const isJson = /^[[{]/.test(text);
  return { status: answer.statusCode, headers: answer.headers, json: isJson ? JSON.parse(text) : {}, bytes };
}

const INFER = '/v2/models/tiny/infer';
const x = inputOf(1);
const jsonInput = { name: 'x', shape: [1, WIDTH], datatype: 'FP32', data: [...x.data] };
const infer = (body: unknown) => call('POST', INFER, typeof body === 'string' ? body : JSON.stringify(body));
const expectClose = (got: ArrayLike<number>, expected: Float32Array) => {
  expect(got.length).toBe(expected.length);
  for (const [i, v] of Array.from(got).entries()) expect(Math.abs(v - expected[i]!)).toBeLessThan(1e-4);
};
const outputsOf = (reply: Reply) => reply.json.outputs as { name: string; shape: number[]; data: number[] }[];

describe('the Open Inference Protocol', () => {
  it('answers for health, server, model, configuration, statistics and index', async () => {
    expect((await call('GET', '/v2/health/live')).json).toEqual({ live: true });
    expect((await call('GET', '/v2/health/ready')).json).toEqual({ ready: true });
    for (const path of ['/v2', '/v2/']) {
      expect((await call('GET', path)).json).toMatchObject({
        name: 'inferplan',
        // Of others there are parts alone.
        extensions: ['binary_tensor_data', 'model_configuration', 'statistics'],
      });
    }
    for (const path of ['/v2/models/tiny', '/v2/models/tiny/versions/1']) {
      expect((await call('GET', path)).json).toMatchObject({
        name: 'tiny',
        versions: ['1'],
        inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, WIDTH] }],
        outputs: [
          { name: 'early', datatype: 'FP32', shape: [-1, 32] },
          { name: 'y', datatype: 'FP32', shape: [-1, WIDTH] },
        ],
        properties: { slo_ms: '5000' },
      });
      expect((await call('GET', `${path}/ready`)).json).toEqual({ name: 'tiny', ready: true });
    }
    expect((await call('GET', '/v2/models/tiny/config')).json).toMatchObject({
      max_batch_size: 4,
      input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [WIDTH] }],
    });
    expect((await call('POST', '/v2/repository/index')).json).toMatchObject([
      { name: 'tiny', version: '1', state: 'READY' },
    ]);
    await infer({ inputs: [jsonInput] });
    const stats = (await call('GET', '/v2/models/tiny/stats')).json as {
      model_stats: { inference_count: number }[];
    };
    expect(stats.model_stats[0]!.inference_count).toBeGreaterThan(0);
  });

  it('lists its models as they are, or those alone that are ready', async () => {
    const index = (body?: string) => call('POST', '/v2/repository/index', body);
    for (const body of ['{}', '{"ready":true}', '{"ready":false}'])
      expect((await index(body)).json).toEqual([{ name: 'tiny', version: '1', state: 'READY', reason: '' }]);
    expect(await index('{"ready"')).toMatchObject({
      status: 400,
      json: { error: expect.stringContaining('not JSON') },
    });
  });

  it('calls its JSON application/json and nothing else, errors too', async () => {
    const typeOf = async (method: string, path: string, body?: string, headers = {}) =>
      (await call(method, path, body, headers)).headers['content-type'];
    for (const [method, path, body, headers] of [
      ['GET', '/v2'],
      ['GET', '/v2/models/tiny'],
      ['GET', '/v2/models/none'],
      ['GET', '/v2/models/%ff'],
      ['GET', '/elsewhere'],
      ['DELETE', '/v2'],
      ['POST', INFER, '{'],
      ['POST', INFER, '{}', { 'content-encoding': 'br' }],
      ['POST', INFER, ' '.repeat(LIMIT + 1)],
      ['POST', INFER, JSON.stringify({ inputs: [jsonInput] })],
      ['POST', INFER, JSON.stringify({ inputs: [jsonInput], parameters: { timeout: 1 } })],
    ] as const)
      expect([path, await typeOf(method, path, body, headers)]).toEqual([path, 'application/json']);
    expect(await typeOf('GET', '/metrics')).toMatch(/^text\/plain/);
  });

  it('answers flat and nested JSON, echoes the id, and orders the outputs as asked', async () => {
    const expected = answerOf(x.data);
    const flat = await infer({ id: 'a "b"', inputs: [jsonInput] });
    expect(flat.status).toBe(200);
    expect(flat.json).toMatchObject({ model_name: 'tiny', model_version: '1', id: 'a "b"' });
    expect(outputsOf(flat).map(({ name, shape }) => [name, shape])).toEqual([
      ['early', [1, 32]],
      ['y', [1, WIDTH]],
    ]);
    expectClose(outputsOf(flat)[0]!.data, expected.early);
    const nested = await infer({
      inputs: [{ ...jsonInput, data: [jsonInput.data] }],
      outputs: [{ name: 'y' }],
    });
    expect(outputsOf(nested).map(({ name }) => name)).toEqual(['y']);
    expectClose(outputsOf(nested)[0]!.data, expected.y);
  });

  it('joins the rows of one request in order', async () => {
    const rows = inputOf(2, 4);
    const reply = await infer({ inputs: [{ ...jsonInput, shape: [4, WIDTH], data: [...rows.data] }] });
    expect(outputsOf(reply)[1]!.shape).toEqual([4, WIDTH]);
    expectClose(outputsOf(reply)[1]!.data, answerOf(rows.data).y);
  });

  it('reads and writes binary tensors, mixed with JSON, at any alignment', async () => {
    const expected = answerOf(x.data);
    for (const pad of ['', ' ', '  ', '   ']) {
      const head = `${pad}${JSON.stringify({
        inputs: [
          { name: 'x', shape: [1, WIDTH], datatype: 'FP32', parameters: { binary_data_size: 4 * WIDTH } },
        ],
        outputs: [{ name: 'y', parameters: { binary_data: true } }, { name: 'early' }],
      })}`;
      const body = Buffer.concat([Buffer.from(head), Buffer.from(x.data.buffer)]);
      const reply = await call('POST', INFER, body, {
        'inference-header-content-length': String(head.length),
      });
      expect(reply.headers['content-type']).toBe('application/octet-stream');
      const length = Number(reply.headers['inference-header-content-length']);
      const [y, early] = outputsOf(reply) as unknown as [{ parameters: object }, { data: number[] }];
      expect(y).toMatchObject({ name: 'y', parameters: { binary_data_size: 4 * WIDTH } });
      const tail = reply.bytes.subarray(length);
      expectClose(
        new Float32Array(tail.buffer.slice(tail.byteOffset, tail.byteOffset + tail.length)),
        expected.y,
      );
      expectClose(early.data, expected.early);
    }
    const all = await infer({ inputs: [jsonInput], parameters: { binary_data_output: true } });
    const body = all.bytes.subarray(Number(all.headers['inference-header-content-length']));
    expect(body.length).toBe(4 * (32 + WIDTH));
  });

  it('reads a raw body when the header length is 0', async () => {
    const raw = await call('POST', INFER, Buffer.from(x.data.buffer), {
      'inference-header-content-length': '0',
    });
    const tail = raw.bytes.subarray(Number(raw.headers['inference-header-content-length']) + 4 * 32);
    expectClose(
      new Float32Array(tail.buffer.slice(tail.byteOffset, tail.byteOffset + tail.length)),
      answerOf(x.data).y,
    );
  });

  it('drops a request that its own timeout does not allow, with 503, a reason and Retry-After', async () => {
    const reply = await infer({ inputs: [jsonInput], parameters: { timeout: 1 } });
    expect(reply.status).toBe(503);
    expect(reply.headers['retry-after']).toBe('1');
    expect(reply.json).toMatchObject({ error: expect.stringContaining('deadline'), reason: 'deadline' });
  });

  it('refuses a faulty request with all its faults', async () => {
    const all = await infer({
      inputs: [
        { ...jsonInput, shape: [1, 3], datatype: 'INT64' },
        { name: 'z', shape: [1], datatype: 'FP32', data: [1] },
      ],
      outputs: [{ name: 'q' }],
      parameters: { timeout: 'soon' },
    });
    expect(all.status).toBe(400);
    for (const part of [
      'input x: its datatype is "INT64"; it must be FP32',
      'input x: its shape is [1,3]; it must be [-1, 16]',
      "input z: is not one of the model's; it takes x FP32[-1, 16]",
      'output "q": is not one of the model\'s: early, y',
      'parameters.timeout: is "soon"',
    ]) {
      expect(all.json.error).toContain(part);
    }
  });

  it.each([
    ['no JSON', '{"inputs": [', 'the body is not JSON'],
    ['an empty body', '', 'it is empty'],
    ['a list', '[1]', 'not a JSON object'],
    ['no inputs', '{}', 'the inputs are x FP32[-1, 16]'],
    ['an input missing', '{"inputs":[]}', 'lacks x FP32[-1, 16]'],
    ['inputs of null', '{"inputs":[null]}', 'inputs[0]: is not one'],
    ['too few elements', { ...jsonInput, data: [1] }, 'has 1 elements; its shape [1, 16] needs 16'],
    ['a string element', { ...jsonInput, data: ['a', ...jsonInput.data.slice(1)] }, 'its data at 0 is "a"'],
    ['no data', { ...jsonInput, data: undefined }, 'its data is not a list'],
    ['no rows', { ...jsonInput, shape: [0, WIDTH], data: [] }, 'its shape is [0,16]'],
    ['an absurd shape', { ...jsonInput, shape: [1e15, WIDTH], data: [1] }, 'has 1 elements'],
    [
      'too many rows',
      { ...jsonInput, shape: [5, WIDTH], data: [...inputOf(1, 5).data] },
      'at most 4 are taken',
    ],
    ['an output that is a list', { inputs: [jsonInput], outputs: [[]] }, 'outputs[0]: has no name'],
    ['an output that is null', { inputs: [jsonInput], outputs: [null] }, 'outputs[0]: has no name'],
    ['binary data past the end', { ...jsonInput, parameters: { binary_data_size: 64 } }, '0 bytes are left'],
  ])('refuses %s with 400 and says why', async (_what, body, why) => {
    const reply = await infer(typeof body === 'string' || 'outputs' in body ? body : { inputs: [body] });
    expect(reply.status).toBe(400);
    expect(reply.json.error).toContain(why);
    expect(JSON.stringify(reply.json)).not.toMatch(/\.ts|\.js|node_modules|\\n {4}at /);
  });

  it('refuses bad frames of the binary extension', async () => {
    const frame = (header: string, size = 64) =>
      call(
        'POST',
        INFER,
        JSON.stringify({
          inputs: [
            { name: 'x', shape: [1, WIDTH], datatype: 'FP32', parameters: { binary_data_size: size } },
          ],
        }),
        { 'inference-header-content-length': header },
      );
    const lengths = ['99999', '-1', 'x', '1.5', '1e1', 'Infinity', '-Infinity', 'NaN', '9'.repeat(400)];
    for (const header of lengths) expect((await frame(header)).status).toBe(400);
    const raw = await call('POST', INFER, Buffer.alloc(7), { 'inference-header-content-length': '0' });
    expect(raw.json.error).toContain('has 7 bytes; its shape [1, 16] needs 64');
  });

  it('refuses an input that is given as data and as bytes, since the two may differ', async () => {
    const head = (data?: unknown) =>
      JSON.stringify({ inputs: [{ ...jsonInput, data, parameters: { binary_data_size: 4 * WIDTH } }] });
    const send = (json: string) =>
      call('POST', INFER, Buffer.concat([Buffer.from(json), Buffer.from(x.data.buffer)]), {
        'inference-header-content-length': String(json.length),
      });
    for (const data of [[...x.data], [], 0, '']) {
      const { status, json } = await send(head(data));
      expect([status, json.error]).toEqual([
        400,
        'Cannot infer with tiny: input x: has both data and binary_data_size; send it in one of these ways',
      ]);
    }
    for (const data of [undefined, null]) expect((await send(head(data))).status).toBe(200);
  });

  it('answers mutilated requests with 200 or 400, and never with an internal error', async () => {
    const stream = streamOf(1, 'mutilate');
    const valid = JSON.stringify({
      id: 'i',
      inputs: [jsonInput],
      outputs: [{ name: 'y' }],
      parameters: { timeout: 0 },
    });
    const pieces = [
      'null',
      '{}',
      '[]',
      '-1',
      '1e999',
      '"',
      ',',
      '{"a":',
      '\\u0000',
      'true',
      '[[',
      '9007199254740993',
    ];
    for (let i = 0; i < whole(60, 400); i++) {
      let text = valid;
      for (let cuts = 1 + stream.integer(3); cuts > 0; cuts--) {
        const from = stream.integer(text.length);
        text =
          text.slice(0, from) + pieces[stream.integer(pieces.length)] + text.slice(from + stream.integer(12));
      }
      const length =
        stream.uniform() < 0.3 ? { 'inference-header-content-length': String(stream.integer(700)) } : {};
      const reply = await call('POST', INFER, text, length);
      expect([200, 400], `${text} ${JSON.stringify(length)}`).toContain(reply.status);
    }
  });

  it('answers 404 for unknown paths, 405 with the allowed methods, and 413 with the limit', async () => {
    expect(await call('GET', '/v2/models/none')).toMatchObject({
      status: 404,
      json: { error: 'There is no model "none"; the served models are tiny' },
    });
    expect((await call('POST', '/v2/models/none/infer', '{}')).status).toBe(404);
    expect((await call('GET', '/v2/models/tiny/versions/7')).status).toBe(404);
    expect((await call('GET', '/elsewhere')).json).toEqual({ error: 'There is nothing at /elsewhere' });
    const unreadable = await call('GET', '/v2/models/%ff');
    expect(unreadable).toMatchObject({ status: 400, json: { error: expect.stringContaining('%ff') } });
    expect(Object.keys(unreadable.json)).toEqual(['error']);
    const wrong = await call('GET', INFER);
    expect(wrong.status).toBe(405);
    expect(wrong.headers.allow).toBe('POST');
    expect((await call('DELETE', '/v2/health/live')).status).toBe(405);
    const huge = await call('POST', INFER, Buffer.alloc(LIMIT + 1));
    expect(huge.status).toBe(413);
    expect(huge.json.error).toContain(`at most ${LIMIT} bytes`);
  });

  it('gives Prometheus its counters, under the names of docs/metrics.md', async () => {
    const text = (await call('GET', '/metrics')).bytes.toString();
    for (const name of [
      'nv_inference_request_success{model="tiny",version="1"}',
      'nv_inference_request_failure{model="tiny",version="1",reason="OTHER"}',
      'nv_inference_exec_count{model="tiny",version="1"}',
      'inferplan_batch_size_bucket{le="4",model="tiny",pipeline="0",partition="1"}',
      'inferplan_drops_total{model="tiny",reason="deadline"',
      'inferplan_device_up{device="s0/gpu0/0"} 1',
    ]) {
      expect(text).toContain(name);
    }
  });
});

/** Batches wait as long as the SLO lets them. */
const PATIENT = { policy: ['formation=last-moment', 'formation.leaves=transfer', 'formation.stepNs=1'] };

describe('a request that ONNX Runtime refuses', () => {
  it('is refused alone with 400, even from a batch with others', async () => {
    const part = { batch: 4, latencyUs: () => 1000 };
    const shape = {
      pipelines: [{ shape: { throughputRps: 1000, parts: [part] }, blocks: [1] }],
      devices: { cpu: { provider: 'cpu', threads: 1 } },
      sloMs: 2000,
      model: lookup(),
    };
    const { server: failing, close } = await serveBundle(shape, PATIENT);
    try {
      const ask = async (ids: number[]) => {
        const body = JSON.stringify({
          inputs: [{ name: 'ids', shape: [1, 2], datatype: 'INT64', data: ids }],
        });
        const reply = await request(`${failing.url}${INFER}`, { method: 'POST', body });
        return {
          status: reply.statusCode,
          json: (await reply.body.json()) as { error: string; outputs: { data: number[] }[] },
        };
      };
      const replies = await Promise.all([ask([0, 1]), ask([7, 99]), ask([2, 3]), ask([7, 0])]);
      expect(replies.map(({ status }) => status)).toEqual([200, 400, 200, 200]);
      expect(replies[1]!.json.error).toMatch(
        /^Cannot infer with tiny: input ids holds 99, .*; it takes -8 to 7$/,
      );
      expect(replies[3]!.json.outputs[0]!.data).toEqual([21, 22, 23, 0, 1, 2]);
      const text = await failing.metricsText();
      expect(text).toContain('reason="BACKEND"} 1');
      expect(text).toContain('inferplan_execution_failures_total{model="tiny",pipeline="0",partition="0"} 2');
    } finally {
      await close();
    }
  });
});

describeInWholeRun('a client that leaves', () => {
  it('is counted as cancelled and delays nothing', async () => {
    const { server: patient, close } = await serveBundle(twoPartitions(4, 60_000), PATIENT);
    try {
      const body = JSON.stringify({ inputs: [jsonInput] });
      const sent = httpRequest(`${patient.url}${INFER}`, { method: 'POST' });
      sent.on('error', () => {});
      sent.end(body);
      await until(async () =>
        (await patient.metricsText()).includes('pending_request_count{model="tiny",version="1"} 1'),
      );
      sent.destroy();
      await until(async () => (await patient.metricsText()).includes('outcome="cancelled"} 1'));
      expect(await patient.metricsText()).toContain('reason="CANCELED"} 1');
      expect(await patient.metricsText()).toContain('pending_request_count{model="tiny",version="1"} 0');
    } finally {
      await close();
    }
  });
});

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 10));
}
