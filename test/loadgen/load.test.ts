import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { driveLoad } from '../../src/loadgen/index.js';
import { inWholeRun } from '../cases.js';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const ANSWER = '{"outputs":[{"name":"y","datatype":"FP32","shape":[1],"data":[1]}]}';

describe('driveLoad()', () => {
  let server: Server;
  const respond = (handle: Parameters<typeof createServer>[1]) =>
    new Promise<string>((resolve) => {
      server = createServer(handle!).listen(0, '127.0.0.1', () => {
        resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      });
      closers.push(
        () =>
          new Promise((done) => {
            server.close(done);
            server.closeAllConnections();
          }),
      );
    });
  const metadata = JSON.stringify({
    name: 'm',
    inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 2] }],
    outputs: [{ name: 'y', datatype: 'FP32', shape: [-1, 2] }],
  });

  inWholeRun(
    'sends on time when the server is slow, and counts latency from the intended times',
    async () => {
      const url = await respond((request, response) => {
        request.resume();
        if (request.method === 'GET') response.end(metadata);
        else setTimeout(() => response.end(ANSWER), 200);
      });
      const report = await driveLoad(url, {
        model: 'm',
        rps: 100,
        durationS: 1,
        arrivals: 'uniform',
        sloMs: 150,
      });
      expect(report).toMatchObject({
        sent: 100,
        answered: 100,
        late: 100,
        inTime: 0,
        attainment: 0,
        dropRate: 1,
      });
      expect(report.elapsedS).toBeGreaterThan(1.18);
      expect(report.latencyMs!.p50).toBeGreaterThanOrEqual(199);
      // One connection needs 2 s for all requests. Latencies include the wait for it, from the intended times on.
      const few = await driveLoad(url, {
        model: 'm',
        rps: 10,
        durationS: 1,
        arrivals: 'uniform',
        connections: 1,
      });
      expect(few.sent).toBe(10);
      expect(few.latencyMs!.max).toBeGreaterThan(10 * 200 - 900 - 100);
    },
  );

  it.each([
    ['["one","two"]', { notes: ['one', 'two'] }],
    ['[]', {}],
    ['["one",2]', {}],
    ['{"length":1}', {}],
    ['["one"', {}],
    [undefined, {}],
    [7, {}],
  ])('reports the notes of the plan of a server that gives them as %s', async (told, reported) => {
    const described = JSON.stringify({ ...JSON.parse(metadata), properties: { plan_notes: told } });
    const url = await respond((request, response) => {
      request.resume();
      response.end(request.method === 'GET' ? described : ANSWER);
    });
    const { notes } = await driveLoad(url, { model: 'm', rps: 20, durationS: 0.1 });
    expect(notes === undefined ? {} : { notes }).toEqual(reported);
  });

  it.each([
    ['{"name":5,"inputs":"x"}', 'does not say which models it has'],
    ['[null,{"name":7}]', 'does not say which models it has'],
    ['<html>', 'answers /v2/repository/index with something other than JSON'],
  ])('refuses a server that lists its models as %s', async (answer, told) => {
    const url = await respond((request, response) => {
      request.resume();
      response.end(answer);
    });
    await expect(driveLoad(url, { rps: 5, durationS: 1 })).rejects.toThrow(told);
  });

  it.each(['[]', '{}', 'null', '{"name":"m","inputs":[{"name":"x","datatype":"FP32"}],"outputs":[]}'])(
    'refuses a server that describes its model as %s',
    async (answer) => {
      const url = await respond((request, response) => {
        request.resume();
        response.end(answer);
      });
      await expect(driveLoad(url, { model: 'm', rps: 5, durationS: 1 })).rejects.toThrow(
        'describes model m in a way that the Open Inference Protocol does not know',
      );
    },
  );

  it('says that it was interrupted: while it sent, or while it only waited for answers', async () => {
    const url = await respond((request, response) => {
      request.resume();
      if (request.method === 'GET') response.end(metadata);
    });
    const asked = { model: 'm', rps: 50, arrivals: 'uniform' } as const;
    const sending = await driveLoad(url, { ...asked, durationS: 20, signal: AbortSignal.timeout(150) });
    expect(sending).toMatchObject({ complete: false });
    expect(sending.elapsedS).toBeLessThan(20);
    expect(sending.cancelled).toBe(sending.sent);
    const waiting = await driveLoad(url, { ...asked, durationS: 0.1, signal: AbortSignal.timeout(400) });
    expect(waiting).toMatchObject({ complete: false, sent: 5, cancelled: 5 });
    // A signal that came to nothing leaves a load complete.
    const whole = await driveLoad(url, {
      ...asked,
      durationS: 0.1,
      timeoutS: 0.2,
      signal: new AbortController().signal,
    });
    expect(whole).toMatchObject({ complete: true, sent: 5, failed: 5, cancelled: 0 });
  });

  it('distinguishes drops, failures with their reasons, wrong answers and broken connections', async () => {
    let count = 0;
    const url = await respond((request, response) => {
      request.resume();
      if (request.method === 'GET') {
        response.end(metadata);
        return;
      }
      count += 1;
      const way = count % 5;
      if (way === 0) response.writeHead(503).end('{"error":"Dropped"}');
      else if (way === 1) response.writeHead(500).end('{"error":"broken"}');
      else if (way === 2) request.socket.destroy();
      else if (way === 3) response.end(ANSWER);
      else response.end('nonsense');
    });
    const right = ({ outputs }: { outputs: Record<string, { data: ArrayLike<unknown> }> }) =>
      outputs.y!.data[0] === 2;
    const report = await driveLoad(url, {
      model: 'm',
      rps: 500,
      durationS: 0.2,
      arrivals: 'uniform',
      check: right,
    });
    expect(report).toMatchObject({ sent: 100, dropped: 20, failed: 80, answered: 0 });
    expect(report.failures).toMatchObject({
      'status 500: broken': 20,
      'the answer is wrong': 20,
      'status 200: no JSON with outputs': 20,
      UND_ERR_SOCKET: 20,
    });
    expect(report.latencyMs).toBeUndefined();
  });

  it('keeps twenty reasons of failure, however many a server gives', async () => {
    let count = 0;
    const url = await respond((request, response) => {
      request.resume();
      if (request.method === 'GET') response.end(metadata);
      else response.writeHead(500).end(JSON.stringify({ error: `fault ${count++ % 25}` }));
    });
    const report = await driveLoad(url, { model: 'm', rps: 500, durationS: 0.1, arrivals: 'uniform' });
    expect(Object.keys(report.failures)).toHaveLength(21);
    expect(report.failures['other reasons']).toBe(10);
  });

  it('accepts an answer only with every output of the model that it does not name as not taken', async () => {
    const binary = ANSWER.replace('"data":[1]', '"parameters":{"binary_data_size":4}');
    const ways: readonly [body: string, headerLength?: number][] = [
      [ANSWER],
      [`${binary}1234`, binary.length],
      ['{"outputs":[]}'],
      ['{"outputs":[],"parameters":{"not_taken":["y"]}}'],
      ['{"outputs":[],"parameters":{"not_taken":"y"}}'],
      [`${binary}12`, binary.length],
      [binary.replace('4}', '-4}').replace('}]}', '},{"name":"z","parameters":{"binary_data_size":8}}]}')],
      [`${binary.replace('4}', '"4"}')}1234`, binary.length + 2],
      [ANSWER.replace('[1]}]', '1}]')],
      [ANSWER, 1e6],
      ['{"outputs":[null]}'],
      [`{"outputs":7${' '.repeat(10_000)}}`],
      // A long body is read only when its outputs are asked for.
      [`{"outputs":7${' '.repeat(70_000)}}`],
    ];
    let count = 0;
    const url = await respond((request, response) => {
      request.resume();
      if (request.method === 'GET') {
        response.end(metadata);
        return;
      }
      const [body, length] = ways[count++ % ways.length]!;
      if (length !== undefined) response.setHeader('inference-header-content-length', length);
      response.end(body);
    });
    const report = await driveLoad(url, { model: 'm', rps: 650, durationS: 0.2, arrivals: 'uniform' });
    expect(report).toMatchObject({ sent: 130, answered: 40, failed: 90 });
    expect(report.failures).toEqual({
      'status 200: no output y': 20,
      'status 200: other bytes than its outputs need': 10,
      'status 200: no size of output y': 20,
      'status 200: no data of output y': 10,
      'status 200: a header longer than it': 10,
      'status 200: no JSON with outputs': 20,
    });
  });

  it('refuses a URL with more than a server in it', async () => {
    const load = { rps: 1, durationS: 1 };
    for (const [more, address] of [
      ['v2', ''],
      ['v2/models/m', ''],
      ['?model=m', ''],
      ['a/v2/models/m', '/a'],
      ['a/b#c', '/a/b'],
    ])
      await expect(driveLoad(`http://127.0.0.1:9/${more}`, load)).rejects.toThrow(
        `url: http://127.0.0.1:9/${more} is more than the address of a server; give only http://127.0.0.1:9${address}`,
      );
  });

  it('takes a prefix that has versions of its own', async () => {
    const load = { model: 'm', rps: 1, durationS: 1 };
    for (const prefix of ['api/v2/team', 'v2/modelsx', 'v22/'])
      await expect(driveLoad(`http://127.0.0.1:9/${prefix}`, load)).rejects.toThrow(
        'no answer: ECONNREFUSED',
      );
  });

  it('refuses invalid options, all at once, and a server that is not there', async () => {
    const bad = { rps: -1, durationS: 0, rows: 1.5, arrivals: 'bursts' as never };
    await expect(driveLoad('nowhere', bad)).rejects.toThrow(
      /rps: is -1; .*\n.*durationS: is 0; .*\n.*rows: is 1.5; .*\n.*arrivals: .*poisson, uniform.*\n.*url: nowhere/,
    );
    await expect(driveLoad('http://127.0.0.1:9', { model: 'm', rps: 1, durationS: 1 })).rejects.toThrow(
      /no answer: ECONNREFUSED[\s\S]*Is the server running/,
    );
  });
});
