import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { Pool } from 'undici';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { cases, inWholeRun, WHOLE } from '../../cases.js';
import { PLAN_PROGRAM } from '../../cli/plan.js';
import { inputOf, serveBundle, twoPartitions, WIDTH, writeBundle } from '../tiny-bundle.js';

const INFER = '/v2/models/tiny/infer';
const BODY = JSON.stringify({
  inputs: [{ name: 'x', shape: [1, WIDTH], datatype: 'FP32', data: [...inputOf(1).data] }],
});
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** judged says what a client got: a status, of a 503 with its reason. */
function judged(status: number, text: string): string {
  return status === 503 ? `503 ${(JSON.parse(text) as { reason?: string }).reason}` : String(status);
}

if (WHOLE)
  describe('A server that is ended by SIGTERM', () => {
    let folder: string;
    let remove: () => Promise<void>;
    beforeAll(async () => {
      ({ folder, remove } = await writeBundle(twoPartitions(4, 2000)));
    });
    afterAll(() => remove());

    async function started() {
      const child = spawn(process.execPath, [PLAN_PROGRAM, 'serve', folder, '--port', '0'], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let told = '';
      child.stderr.on('data', (chunk: Buffer) => {
        told += chunk.toString();
      });
      const [ready] = (await once(child.stdout, 'data')) as [Buffer];
      const url = /http:\S+/.exec(ready.toString())![0];
      const exited = once(child, 'exit');
      return { child, url, exited, told: () => told };
    }

    const pooled = async (pool: Pool): Promise<string> => {
      const response = await pool.request({ path: INFER, method: 'POST', body: BODY });
      return judged(response.statusCode, await response.body.text());
    };

    const alone = (url: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const asked = request(`${url}${INFER}`, { agent: false, method: 'POST' }, (response) => {
          let text = '';
          response.on('data', (chunk: Buffer) => {
            text += chunk.toString();
          });
          response.on('end', () => resolve(judged(response.statusCode!, text)));
          response.on('error', reject);
        });
        asked.on('error', reject);
        asked.end(BODY);
      });

    inWholeRun(
      'answers requests to the end: each 503 has its reason, and later ones find nobody listening',
      async () => {
        const got: Record<string, number> = {};
        for (let kill = 0; kill < cases(3, 30); kill++) {
          const { child, url, exited, told } = await started();
          const pool = new Pool(url, { connections: 64 });
          const open: Promise<void>[] = [];
          let answers = 0;
          const count = (answer: Promise<string>): void => {
            const named = answer.catch(({ code, message }: NodeJS.ErrnoException) => code ?? message);
            open.push(
              named.then((what) => {
                got[what] = (got[what] ?? 0) + 1;
                if (/^\d/.test(what)) answers += 1;
              }),
            );
          };
          for (let turn = 0; turn < 150; turn++) {
            count(pooled(pool));
            if (turn % 3 === 0) count(alone(url));
            if (turn === 50 + 10 * kill) child.kill('SIGTERM');
            await sleep(turn % 4);
          }
          await Promise.all(open);
          expect((await exited)[0]).toBe(0);
          const [, counted, crossed = 0] =
            /stopped: of (\d+) requests, \d+ in time, \d+ late, \d+ dropped, 0 failed, .*?(?:; (\d+) more came as the server closed)?$/m.exec(
              told(),
            )!;
          // A request may be read whose client does not hear the answer, and none is answered that was not read.
          expect(Number(counted) + Number(crossed)).toBeGreaterThanOrEqual(answers);
          await pool.destroy();
        }
        // Whether a connection comes between the last look for one and the end of listening depends on the machine's load, and
        // those that wait for their turn are not among them.
        const all = Object.values(got).reduce((sum, count) => sum + count, 0);
        expect((got.ECONNRESET ?? 0) / all).toBeLessThan(0.05);
        const expected = ['200', '503 draining', 'ECONNREFUSED', 'ECONNRESET'];
        expect(Object.keys(got).filter((what) => !expected.includes(what))).toEqual([]);
        expect(got['200']).toBeGreaterThan(0);
        expect(got['503 draining']).toBeGreaterThan(0);
      },
    );
  });

describe('A server that closes', () => {
  const closers: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });

  /** heard connects, sends `text`, and gives all that comes until the server ends the connection. */
  async function heard(port: number, text: string) {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    let all = '';
    socket.on('data', (chunk: Buffer) => {
      all += chunk.toString();
    });
    const failed: string[] = [];
    socket.on('error', ({ code }: NodeJS.ErrnoException) => failed.push(code!));
    socket.write(text);
    const ended = once(socket, 'close').then(() => ({ all, failed }));
    return { socket, ended };
  }

  inWholeRun(
    'announces to a client without an open request that it closes, so that a request on its way has an answer',
    async () => {
      const { server, close } = await serveBundle(twoPartitions(2, 5000));
      closers.push(close);
      const { ended } = await heard(
        server.address.port,
        'GET /v2/health/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n',
      );
      const half = await heard(server.address.port, 'POST /v2/models/ti');
      await sleep(50);
      await server.close();
      const { all, failed } = await ended;
      expect(failed).toEqual([]);
      expect(all).toMatch(/HTTP\/1.1 200 OK[\s\S]*HTTP\/1.1 503 Service Unavailable/);
      expect(all).toContain('"reason":"draining"');
      expect((await half.ended).all).toContain('"reason":"draining"');
    },
  );

  inWholeRun('answers each of the connections that the system still holds for it', async () => {
    const { server, close } = await serveBundle(twoPartitions(2, 5000));
    closers.push(close);
    const text = 'GET /v2/health/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n';
    const clients = Array.from({ length: 200 }, () => heard(server.address.port, text));
    const closed = server.close();
    const ended = await Promise.all(clients.map(async (client) => (await client).ended));
    await closed;
    expect(ended.filter(({ failed }) => failed.length > 0)).toEqual([]);
    expect(ended.filter(({ all }) => !/^HTTP\/1.1 (200|503) /.test(all))).toEqual([]);
    expect(ended.filter(({ all }) => all.includes('"reason":"draining"')).length).toBeGreaterThan(100);
  });

  it('answers a client whose body has not come whole in the time that is left', async () => {
    const { server, close } = await serveBundle(twoPartitions(2, 5000), { drainTimeoutMs: 300 });
    closers.push(close);
    const head = `POST ${INFER} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 900\r\n\r\n  `;
    const { ended } = await heard(server.address.port, head);
    await sleep(50);
    await server.close();
    const { all, failed } = await ended;
    expect(failed).toEqual([]);
    expect(all).toMatch(/^HTTP\/1.1 503/);
    expect(all).toContain('"reason":"draining"');
  });
});
