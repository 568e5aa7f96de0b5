import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { loadServer } from '../../src/api/index.js';
import { describeServer, driveLoad } from '../../src/loadgen/index.js';
import { inWholeRun } from '../cases.js';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** An answer as one of these servers gives it: a status and a body. */
type Answer = readonly [status: number, body: unknown];

interface Asked {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** served answers requests by `METHOD /path`, and 404 in words that are no JSON else, as proxies do. It keeps what was asked. */
async function served(
  answers: Readonly<Record<string, Answer | ((asked: Asked) => Answer)>>,
): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const one = {
      path: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(pieces).toString('latin1'),
    };
    asked.push(one);
    const answer = answers[`${request.method} ${request.url}`];
    const [status, body] = typeof answer === 'function' ? answer(one) : (answer ?? [404, undefined]);
    response.writeHead(status).end(body === undefined ? '404 page not found' : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

const tensor = (name: string, datatype = 'FP32') => ({ name, datatype, shape: [-1, 2] });
const metadata = { name: 'm', platform: '', inputs: [tensor('x')], outputs: [tensor('y')] };
const ANSWER = {
  model_name: 'm',
  outputs: [{ name: 'y', datatype: 'FP32', shape: [1, 2], data: [1, 2] }],
};
const QUICK = { rps: 20, durationS: 0.2, arrivals: 'uniform' } as const;

/** Servers as they are, of which each has its own way to list models: MLServer wants a body, and KServe has another list. */
const SERVERS = {
  mlserver: {
    'GET /v2': [200, { name: 'mlserver', version: '1.7.1', extensions: [] }],
    'POST /v2/repository/index': ({ body }: Asked): Answer =>
      body === '' ? [422, { detail: [{ msg: 'Field required' }] }] : [200, [{ name: 'm', state: 'READY' }]],
  },
  kserve: {
    'GET /v2': [200, { name: 'kserve', version: '0.21', extensions: ['model_repository_extension'] }],
    'GET /v2/models': [200, { models: ['m'] }],
  },
  stateless: {
    'GET /v2': [200, { name: 'stateless', version: '1', extensions: [] }],
    'POST /v2/repository/index': [200, [{ name: 'm' }]],
  },
  triton: {
    'GET /v2': [200, { name: 'triton', version: '2.51', extensions: ['binary_tensor_data'] }],
    'POST /v2/repository/index': [
      200,
      [
        { name: 'broken', version: '1', state: 'UNAVAILABLE', reason: 'it fails to load' },
        { name: 'm', version: '1', state: 'READY' },
        { name: 'm', version: '2', state: 'READY' },
        { name: 'unloaded' },
        { name: 'never-loaded', state: '' },
      ],
    ],
  },
} as const;

describe.each(Object.entries(SERVERS))('A server that lists its models as %s does', (name, answers) => {
  it('is loaded by its URL alone, with tensors as it takes them and an id in every request', async () => {
    const { url, asked } = await served({
      ...answers,
      'GET /v2/models/m': [200, metadata],
      'POST /v2/models/m/infer': ({ body }) =>
        body.includes('"id":"load-0-') ? [200, ANSWER] : [500, { detail: 'no id' }],
    });
    expect((await describeServer(url)).map((model) => model.name)).toEqual(['m']);
    const report = await driveLoad(url, QUICK);
    expect(report).toMatchObject({ sent: 4, answered: 4, failures: {} });
    const isBinary = name === 'triton';
    expect(report.tensors).toBe(isBinary ? 'binary' : 'json');
    const infer = asked.filter(({ path }) => path.endsWith('/infer'));
    for (const { headers, body } of infer) {
      expect('inference-header-content-length' in headers).toBe(isBinary);
      expect(body.includes('binary_data')).toBe(isBinary);
      if (!isBinary) expect(Object.keys(JSON.parse(body))).toEqual(['id', 'inputs']);
    }
  });

  it('is loaded behind a proxy that gives it a prefix', async () => {
    const behind = Object.fromEntries(
      Object.entries({
        ...answers,
        'GET /v2/models/m': [200, metadata] as const,
        'POST /v2/models/m/infer': [200, ANSWER] as const,
      }).map(([asked, answer]) => [asked.replace(' ', ' /team/a'), answer]),
    );
    const { url } = await served(behind);
    const report = await driveLoad(`${url}/team/a/`, QUICK);
    expect(report).toMatchObject({ answered: 4, url: `${url}/team/a/` });
    await expect(driveLoad(url, QUICK)).rejects.toThrow('does not say which models it has');
  });
});

describe('driveLoad()', () => {
  inWholeRun('sends tensors as it is asked to, and float16 as bytes, whatever a server reports', async () => {
    const halves = { ...metadata, inputs: [tensor('x', 'FP16')] };
    for (const [described, tensors, sent] of [
      [metadata, undefined, 'json'],
      [metadata, 'binary', 'binary'],
      [halves, undefined, 'binary'],
    ] as const) {
      const { url } = await served({
        'GET /v2/models/m': [200, described],
        'POST /v2/models/m/infer': ({ headers }) =>
          'inference-header-content-length' in headers === (sent === 'binary') ? [200, ANSWER] : [400, {}],
      });
      const report = await driveLoad(url, { ...QUICK, model: 'm', ...(tensors && { tensors }) });
      expect(report).toMatchObject({ answered: 4, tensors: sent });
    }
  });

  it('refuses to send float16 as JSON', async () => {
    const halves = { ...metadata, inputs: [tensor('x', 'FP16')] };
    const { url } = await served({ 'GET /v2/models/m': [200, halves] });
    const refused = driveLoad(url, { ...QUICK, model: 'm', tensors: 'json' });
    await expect(refused).rejects.toThrow('x is FP16, which JSON does not carry');
  });

  it('counts as dropped what a server gives up with 408, 429, 503 or 504, by their status, and fails else', async () => {
    const statuses = [408, 429, 503, 504, 500, 502];
    let count = 0;
    const { url } = await served({
      'GET /v2/models/m': [200, metadata],
      'POST /v2/models/m/infer': () => [statuses[count++ % statuses.length] as number, { detail: 'no' }],
    });
    const report = await driveLoad(url, { ...QUICK, rps: 60, model: 'm' });
    expect(report).toMatchObject({
      sent: 12,
      dropped: 8,
      failed: 4,
      drops: { 408: 2, 429: 2, 503: 2, 504: 2 },
      failures: { 'status 500: no': 2, 'status 502: no': 2 },
    });
  });

  it('sends samples to a model that is described without inputs, as they are', async () => {
    const { url, asked } = await served({
      'GET /v2/models/m': [200, { ...metadata, inputs: [], outputs: [] }],
      'POST /v2/models/m/infer': [200, ANSWER],
    });
    const path = join(await mkdtemp(join(tmpdir(), 'inferplan-other-')), 'samples.json');
    const data = [1, 2, 3, 4];
    await writeFile(path, JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [2, 2], data }] }));
    const report = await loadServer(url, { ...QUICK, model: 'm', samples: [path] });
    await rm(dirname(path), { recursive: true });
    expect(report).toMatchObject({ sent: 4, answered: 4 });
    const sent = asked
      .filter(({ path }) => path.endsWith('/infer'))
      .map(({ body }) => JSON.parse(body).inputs[0]);
    expect(sent.slice(0, 2)).toEqual([
      { name: 'x', datatype: 'FP32', shape: [1, 2], data: [1, 2] },
      { name: 'x', datatype: 'FP32', shape: [1, 2], data: [3, 4] },
    ]);
  });

  it('sends samples of float16 as bytes, also where the server describes no inputs', async () => {
    const { url } = await served({
      'GET /v2/models/m': [200, { ...metadata, inputs: [], outputs: [] }],
      'POST /v2/models/m/infer': [200, ANSWER],
    });
    const inputs = [{ x: { dtype: 'float16', dims: [1, 2], data: new Uint16Array([0, 15360]) } }];
    const report = await driveLoad(url, { ...QUICK, model: 'm', inputs });
    expect(report).toMatchObject({ answered: 4, tensors: 'binary' });
  });

  it.each(['binary', 'json'] as const)(
    'gives every request an id of its own and all else as it was, as %s, also while others are open',
    async (tensors) => {
      const { url, asked } = await served({
        'GET /v2/models/m': [200, metadata],
        'POST /v2/models/m/infer': [200, ANSWER],
      });
      const report = await driveLoad(url, { ...QUICK, rps: 500, rows: 3, seed: 5, model: 'm', tensors });
      const bodies = asked.filter(({ path }) => path.endsWith('/infer'));
      expect(bodies).toHaveLength(report.sent);
      const ids = bodies.map(({ body, headers }) => {
        const jsonBytes = Number(headers['inference-header-content-length'] ?? body.length);
        expect(tensors === 'json' || jsonBytes % 8 === 0).toBe(true);
        const { id, inputs } = JSON.parse(body.slice(0, jsonBytes));
        const [{ shape, data, parameters }] = inputs;
        const bytes = body.length - jsonBytes;
        expect([shape, data?.length ?? parameters.binary_data_size / 4]).toEqual([[3, 2], 6]);
        expect(bytes).toBe(tensors === 'json' ? 0 : 24);
        return id;
      });
      expect(new Set(ids).size).toBe(report.sent);
      expect(ids.every((id) => /^load-5-\d{12}$/.test(id))).toBe(true);
    },
  );

  it('counts what a request takes as JSON before it makes one', async () => {
    const large = { ...metadata, inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 1_000_000] }] };
    const { url } = await served({ 'GET /v2/models/m': [200, large] });
    const asked = { ...QUICK, model: 'm', rows: 3 };
    await expect(driveLoad(url, asked)).rejects.toThrow(/takes 71\S* MiB, and at most 64 MiB are sent/);
    const raised = { ...asked, rows: 20, maxRequestBytes: 2 ** 40 };
    await expect(driveLoad(url, raised)).rejects.toThrow(/may take 47\S* MiB as JSON, and at most 256 MiB/);
  });

  it('names the model where a page for browsers says that it is not there', async () => {
    const { url } = await served({});
    const server = createServer((_, response) => response.writeHead(404).end('<!DOCTYPE html><p>no</p>'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => server.close());
    const page = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await expect(driveLoad(page, { ...QUICK, model: 'm' })).rejects.toThrow(/: has no model m$/);
    await expect(driveLoad(url, { ...QUICK, model: 'm' })).rejects.toThrow(
      'has no model m: 404 page not found',
    );
  });

  it('says of a model that is described without inputs that no request can be made of it', async () => {
    const { url } = await served({ 'GET /v2/models/m': [200, { ...metadata, inputs: [], outputs: [] }] });
    await expect(driveLoad(url, { ...QUICK, model: 'm' })).rejects.toThrow(
      /describes no inputs of model m[\s\S]*`samples`/,
    );
  });
});

it('driveLoad() reads from the configuration of a bundle on Triton what our own servers report, and that branches leave outputs out', async () => {
  const told = {
    plan_sha256: 'a'.repeat(64),
    slo_ms: '70',
    may_lack_outputs: 'true',
    scheduler: 'triton',
    policy: '{}',
  };
  const parameters = Object.fromEntries(
    Object.entries(told).map(([key, text]) => [`inferplan.${key}`, { string_value: text }]),
  );
  const { url } = await served({
    ...SERVERS.triton,
    'GET /v2/models/m': [200, { ...metadata, outputs: [tensor('y'), tensor('z')] }],
    'GET /v2/models/m/config': [
      200,
      { name: 'm', parameters: { ...parameters, gear: { string_value: '2' } } },
    ],
    'POST /v2/models/m/infer': [200, ANSWER],
  });
  const load = await driveLoad(url, { ...QUICK, model: 'm' });
  expect(load).toMatchObject({ planSha256: told.plan_sha256, sloMs: 70, failures: {}, failed: 0 });
  expect(load.answered).toBe(load.sent);
});
