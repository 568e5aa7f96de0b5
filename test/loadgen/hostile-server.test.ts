import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { InputError } from '../../src/formats/index.js';
import { describeServer, driveLoad, type LoadOptions } from '../../src/loadgen/index.js';

const MIB = 1024 * 1024;
/** What a client may take more than its limit: what sockets on both sides hold. */
const IN_SOCKETS = 16 * MIB;
const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

interface Hostile {
  /** What it answers to requests of a path that ends so; else it is one model of small tensors. */
  readonly [end: string]: Answer;
}

const SMALL = { name: 'm', inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 4] }], outputs: [] };

/** hostile serves what the answers say, and counts the bytes that it has handed to its sockets. */
async function hostile(answers: Hostile): Promise<{ url: string; sentBytes: () => number }> {
  let before = 0;
  const sockets = new Set<{ bytesWritten: number; destroy: () => void }>();
  const server = createServer((request, response) => {
    const end = Object.keys(answers).find((one) => request.url?.endsWith(one));
    if (end !== undefined) answers[end]!(response, request);
    else if (request.url?.includes('infer')) response.end('{"outputs":[]}');
    else if (request.url?.includes('index')) response.end('[{"name":"m"}]');
    else if (request.url?.includes('executions')) response.writeHead(404).end();
    else response.end(JSON.stringify(SMALL));
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => {
      before += socket.bytesWritten;
      sockets.delete(socket);
    });
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const sentBytes = () => [...sockets].reduce((sum, socket) => sum + socket.bytesWritten, before);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sentBytes };
}

/** endless writes as long as the client takes it. */
const endless: Answer = (response) => {
  const piece = Buffer.alloc(256 * 1024, ' ');
  const more = () => {
    while (!response.destroyed && response.write(piece));
  };
  response.on('drain', more);
  more();
};

const trickling: Answer = (response) => {
  const timer = setInterval(() => response.write(' '), 20);
  response.once('close', () => clearInterval(timer));
};

const QUICK = { rps: 50, durationS: 0.1, arrivals: 'uniform' } as const;
const LIMITS = { maxAnswerBytes: MIB, maxAnswersBytes: 4 * MIB, maxDescriptionBytes: MIB, timeoutS: 2 };
const drive = (url: string, options: Partial<LoadOptions> = {}) =>
  driveLoad(url, { ...QUICK, ...LIMITS, ...options });

describe('A client of a server that describes itself beyond reason', () => {
  it.each([
    ['one dimension', [1_000_000_000]],
    ['a product of dimensions', [-1, 100_000, 100_000]],
    ['more than a number counts', Array.from({ length: 200 }, () => 1_000_000)],
  ])('refuses a shape that asks for a request larger than its limit: %s', async (_, shape) => {
    const metadata = { ...SMALL, inputs: [{ name: 'x', datatype: 'FP32', shape }] };
    const { url } = await hostile({ '/m': (response) => response.end(JSON.stringify(metadata)) });
    const before = process.memoryUsage().arrayBuffers;
    await expect(drive(url)).rejects.toThrow(/a request of 1 row takes \S+ MiB, and at most 64 MiB are sent/);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(MIB);
  });

  it('refuses many inputs, or rows, that are too much together', async () => {
    const inputs = Array.from({ length: 100 }, (_, i) => ({
      name: `x${i}`,
      datatype: 'BYTES',
      shape: [-1, 1000],
    }));
    const { url } = await hostile({ '/m': (response) => response.end(JSON.stringify({ ...SMALL, inputs })) });
    await expect(drive(url, { maxRequestBytes: MIB })).rejects.toThrow('at most 1 MiB are sent');
    await expect(drive(url, { rows: 1000 })).rejects.toThrow('at most 64 MiB are sent');
  });

  it.each([['/m'], ['/index']])('reads an endless answer of %s to its limit', async (end) => {
    const { url, sentBytes } = await hostile({ [end]: endless });
    const asking = drive(url);
    await expect(asking).rejects.toThrow(InputError);
    await expect(asking).rejects.toThrow(
      'the answer is larger than 1 MiB, which is what it may tell of itself',
    );
    expect(sentBytes()).toBeLessThan(MIB + IN_SOCKETS);
  });

  it('reads many descriptions to a limit of all', async () => {
    const names = Array.from({ length: 50 }, (_, i) => ({ name: `m${i}` }));
    const long = JSON.stringify({ ...SMALL, properties: { note: 'x'.repeat(100_000) } });
    const { url } = await hostile({
      '/index': (response) => response.end(JSON.stringify(names)),
      '': (response) => response.end(long),
    });
    await expect(describeServer(url, LIMITS)).rejects.toThrow('which is what it may tell of itself');
  });

  it('asks for no more than a thousand models', async () => {
    const names = Array.from({ length: 1001 }, (_, i) => ({ name: `m${i}` }));
    const { url } = await hostile({ '/index': (response) => response.end(JSON.stringify(names)) });
    await expect(describeServer(url, LIMITS)).rejects.toThrow(
      'lists 1001 models, and at most 1000 are looked at',
    );
  });

  it('says where it is sent, and does not go there', async () => {
    const { url } = await hostile({
      '/m': (response) => response.writeHead(302, { location: 'http://elsewhere.example/' }).end(),
    });
    await expect(drive(url)).rejects.toThrow(
      'answers 302: it redirects to http://elsewhere.example/, which is not followed',
    );
  });

  it('reports that headers are too large', async () => {
    const { url } = await hostile({
      '/m': (response) => response.writeHead(200, { 'x-long': 'x'.repeat(100_000) }).end('{}'),
    });
    await expect(drive(url)).rejects.toThrow('its headers are larger than 16 KiB');
  });
});

describe('A client whose requests are answered beyond reason', () => {
  const failures = async (answers: Hostile, options: Partial<LoadOptions> = {}) => {
    const { url, sentBytes } = await hostile(answers);
    const report = await drive(url, options);
    expect(report.failed).toBe(report.sent);
    return { failures: Object.keys(report.failures), sentBytes: sentBytes(), sent: report.sent };
  };

  it('reads endless answers to its limit', async () => {
    const { failures: why, sentBytes, sent } = await failures({ '/infer': endless });
    expect(why).toEqual(['the answer is larger than 1 MiB']);
    expect(sentBytes).toBeLessThan(sent * (MIB + IN_SOCKETS));
  });

  it('reads nothing of an answer that is announced to be too large', async () => {
    const large: Answer = (response) => response.writeHead(200, { 'content-length': 1e12 }).write('x');
    expect((await failures({ '/infer': large })).failures).toEqual(['the answer is larger than 1 MiB']);
  });

  it('holds answers that are read at once to a limit of all', async () => {
    const slow: Answer = (response) => response.write(Buffer.alloc(900_000, ' '));
    const { failures: why } = await failures(
      { '/infer': slow },
      { maxAnswersBytes: 2 * MIB, timeoutS: 0.5, durationS: 0.2 },
    );
    expect(why).toContain('the answers being read take more than 2 MiB together');
  });

  it('waits for an answer that trickles no longer than for one', async () => {
    const { failures: why } = await failures({ '/infer': trickling }, { timeoutS: 0.3 });
    expect(why).toEqual(['the answer was not whole within 0.3 s']);
  });

  it('keeps the beginning of what an error reports, and reads no more', async () => {
    const failing: Answer = (response, request) => {
      response.writeHead(500);
      endless(response, request);
    };
    const long: Answer = (response) =>
      response.writeHead(400).end(JSON.stringify({ error: 'y'.repeat(50_000) }));
    expect((await failures({ '/infer': failing })).sentBytes).toBeLessThan(5 * IN_SOCKETS);
    expect((await failures({ '/infer': long })).failures).toEqual([`status 400: ${'y'.repeat(200)}`]);
  });

  it('does not wait for ever while a server says that it processes', async () => {
    const processing: Answer = (response) => {
      const timer = setInterval(() => response.writeProcessing(), 20);
      response.once('close', () => clearInterval(timer));
    };
    const { failures: why } = await failures({ '/infer': processing }, { timeoutS: 0.5 });
    expect(why).toEqual(['the answer did not begin within 0.5 s']);
  });
});
