import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { AnswerMemory } from '../../../src/runtime/http/answer-memory.js';
import type { RunningServer } from '../../../src/runtime/index.js';
import { describeInWholeRun, inWholeRun, WHOLE } from '../../cases.js';
import { echo, inputOf, onePartition, serveBundle, twoPartitions, WIDTH } from '../tiny-bundle.js';

const MIB = 2 ** 20;
const INFER = '/v2/models/tiny/infer';

function response(): ServerResponse {
  return new PassThrough() as unknown as ServerResponse;
}

describe('AnswerMemory', () => {
  it('counts what all answers hold until their connections are closed', () => {
    const answers = new AnswerMemory(100);
    const [one, two] = [response(), response()];
    answers.hold(one, 60);
    expect(() => answers.hold(two, 41)).toThrow('take more than 100 bytes together');
    answers.hold(two, 40);
    answers.hold(one, -30);
    answers.hold(two, 30);
    expect(() => answers.hold(one, 1)).toThrow(expect.objectContaining({ statusCode: 503 }));
    two.emit('close');
    answers.hold(one, 70);
    one.emit('close');
    answers.hold(response(), 100);
  });

  it('says to a client that its answer alone is too long, and counts nothing of one that is gone', async () => {
    const answers = new AnswerMemory(100);
    expect(() => answers.hold(response(), 101)).toThrow(expect.objectContaining({ statusCode: 400 }));
    const gone = response();
    gone.destroy();
    await once(gone, 'close');
    answers.hold(gone, 100);
    answers.hold(response(), 100);
  });
});

if (WHOLE)
  describe('a server whose clients do not read their answers', () => {
    const text = 'x'.repeat(12 * MIB);
    const body = JSON.stringify({ inputs: [{ name: 'x', shape: [1, 1], datatype: 'BYTES', data: [text] }] });
    const head = `POST ${INFER} HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n`;
    const serve = (options: { maxAnswersBytes?: number; requestTimeoutMs: number }) =>
      serveBundle(onePartition(echo('string'), { sloMs: 60_000 }), options);

    /** begun waits for the beginning of an answer, which may come behind some `102 Processing`, and then reads no more. */
    async function begun(socket: Socket): Promise<void> {
      let heard = '';
      while (!heard.includes('HTTP/1.1 200')) {
        await once(socket, 'readable');
        heard += String(socket.read() ?? '');
      }
    }

    /** unread asks for answers, of which it reads nothing. */
    function unread({ address }: RunningServer, answers = 1): Socket {
      const socket = connect(address.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write((head + body).repeat(answers));
      return socket;
    }

    inWholeRun(
      'keeps answers within their sum, and answers again when a client that reads nothing is gone',
      async () => {
        // An answer takes its output and its text while it is written, and its text until it is read.
        const { server, close } = await serve({ maxAnswersBytes: 40 * MIB, requestTimeoutMs: 120_000 });
        const infer = () => fetch(server.url + INFER, { method: 'POST', body });
        try {
          const held: Socket[] = [];
          // One after the other: both at once would take more than all may.
          for (let i = 0; i < 2; i++) {
            const socket = unread(server);
            held.push(socket);
            await begun(socket);
          }
          const refused = await infer();
          expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
          expect(await refused.text()).toContain(`take more than ${40 * MIB} bytes together`);
          // It ended in time, and its client did not get the answer.
          expect(await server.metricsText()).toContain('inferplan_answers_unsent_total{model="tiny"} 1\n');
          for (const socket of held) socket.destroy();
          let answered = await infer();
          while (answered.status === 503) {
            await answered.arrayBuffer();
            await new Promise((done) => setTimeout(done, 100));
            answered = await infer();
          }
          expect(answered.status).toBe(200);
          const { outputs } = (await answered.json()) as { outputs: { data: string[] }[] };
          expect(outputs[0]!.data[0] === text).toBe(true);
        } finally {
          await close();
        }
      },
      120_000,
    );

    inWholeRun(
      'closes the connections on which nothing is read',
      async () => {
        const { server, close } = await serve({ requestTimeoutMs: 5000 });
        try {
          const held = [unread(server), unread(server, 2)];
          const both = 'inferplan_connections_closed_total{reason="unread"} 2';
          await until(async () => (await server.metricsText()).includes(both));
          const closed = Promise.all(held.map((socket) => once(socket, 'close')));
          // The system still has the beginnings of what was not read.
          for (const socket of held) socket.resume();
          await closed;
          expect(Math.max(...held.map(({ bytesRead }) => bytesRead))).toBeLessThan(text.length);
        } finally {
          await close();
        }
      },
      120_000,
    );
  });

describeInWholeRun('a client that ends its side after its request', () => {
  const data = [...inputOf(1).data];
  const body = JSON.stringify({ inputs: [{ name: 'x', shape: [1, WIDTH], datatype: 'FP32', data }] });
  const head = (version: string) =>
    `POST ${INFER} HTTP/${version}\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n`;

  async function heard(port: number, request: string): Promise<string> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    let all = '';
    socket.on('data', (chunk: Buffer) => {
      all += chunk.toString();
    });
    socket.end(request);
    await once(socket, 'close');
    return all;
  }

  it('gets its answer, and status 102 while it waits for long', async () => {
    const policy = ['formation=last-moment', 'formation.leaves=transfer', 'formation.stepNs=1'];
    const { server, close } = await serveBundle(twoPartitions(4, 1400), { policy });
    try {
      const { port } = server.address;
      const [told, untold] = await Promise.all(
        ['1.1', '1.0'].map((version) => heard(port, head(version) + body)),
      );
      expect(told).toMatch(/^(HTTP\/1\.1 102 Processing\r\n\r\n)+HTTP\/1\.1 200 OK[\s\S]*"data":\[[\s\S]*}$/);
      expect(untold).toMatch(/^HTTP\/1\.1 200 OK[\s\S]*}$/);
      expect(await heard(port, 'GET /v2/health/live HTTP/1.1\r\nhost: localhost\r\n\r\n')).toMatch(
        /^HTTP\/1\.1 200 OK[\s\S]*\{"live":true}$/,
      );
      expect(await heard(port, head('1.1') + body.slice(1))).toContain('HTTP/1.1 400');
      expect(await heard(port, '')).toBe('');
    } finally {
      await close();
    }
  });
});

describe('a server with as many connections as it takes', () => {
  it('closes further ones, and takes others when some are closed', async () => {
    const { server, close } = await serveBundle(twoPartitions(), { maxConnections: 3 });
    try {
      const open = () => connect(server.address.port, '127.0.0.1').on('error', () => {});
      const held = [open(), open(), open()];
      await Promise.all(held.map((socket) => once(socket, 'connect')));
      const ask = (socket: Socket) => {
        let text = '';
        socket.on('data', (chunk: Buffer) => {
          text += chunk.toString();
        });
        socket.write('GET /v2/health/live HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n');
        return new Promise<string>((done) => socket.once('close', () => done(text)));
      };
      const [first, ...others] = held as [Socket, Socket, Socket];
      expect(await ask(open())).toBe('');
      expect(await ask(first)).toContain('"live":true');
      expect(await ask(open())).toContain('"live":true');
      expect(await server.metricsText()).toMatch(
        /connections_closed_total\{reason="limit"} 1\n.*connections_closed_total\{reason="unread"} 0/,
      );
      for (const socket of others) socket.destroy();
    } finally {
      await close();
    }
  });

  inWholeRun('has the same limits at its port for metrics', async () => {
    const limits = { maxConnections: 2, requestTimeoutMs: 500 };
    const { server, close } = await serveBundle(twoPartitions(), { metricsPort: 0, ...limits });
    try {
      const { port } = new URL(server.metricsUrl as string);
      const open = () =>
        connect(Number(port), '127.0.0.1')
          .on('error', () => {})
          .resume();
      const idle = [open(), open()];
      await Promise.all(idle.map((socket) => once(socket, 'connect')));
      await once(open(), 'close');
      expect(await server.metricsText()).toContain('connections_closed_total{reason="limit"} 1');
      expect(idle.some(({ closed }) => closed)).toBe(false);
      // They send no request.
      await Promise.all(idle.map((socket) => once(socket, 'close')));
    } finally {
      await close();
    }
  });
});

describeInWholeRun('a client that sends many requests before it reads', () => {
  it('is answered, and Node warns of nothing', async () => {
    const warned: Error[] = [];
    const onWarning = (warning: Error) => warned.push(warning);
    process.on('warning', onWarning);
    const { server, close } = await serveBundle(twoPartitions());
    try {
      const socket = connect(server.address.port, '127.0.0.1');
      let text = '';
      socket.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      const request = 'GET /v2/health/live HTTP/1.1\r\nhost: localhost\r\n';
      socket.write(`${`${request}\r\n`.repeat(40)}${request}connection: close\r\n\r\n`);
      await once(socket, 'close');
      expect(text.match(/"live":true/g)).toHaveLength(41);
      expect(warned).toEqual([]);
    } finally {
      process.off('warning', onWarning);
      await close();
    }
  });
});

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((done) => setTimeout(done, 10));
}
