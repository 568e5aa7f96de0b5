import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HttpServers } from '../../../src/runtime/http/http-servers.js';
import { inWholeRun } from '../../cases.js';

const MANY = 100;
/** The sockets of a loopback connection hold some of these, and then no more. */
const ANSWER = 'x'.repeat(256 * 1024);

describe('a client that sends requests in a row', () => {
  let server: Server;
  let begun: string[];
  let crowded: number;
  const open: Socket[] = [];

  beforeEach(async () => {
    begun = [];
    crowded = 0;
    const handler = ({ url }: IncomingMessage, response: ServerResponse) => {
      begun.push(url as string);
      response.end(ANSWER);
    };
    const servers = new HttpServers();
    servers.onCrowded(() => {
      crowded += 1;
    });
    server = servers.make(handler, {} as never);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterEach(() => {
    for (const socket of open.splice(0)) socket.destroy();
    server.close();
  });

  function client(): Socket {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    open.push(socket);
    return socket;
  }

  const requests = (name: string, count: number): string =>
    Array.from({ length: count }, (_, i) => `GET /${name}${i} HTTP/1.1\r\nhost: a\r\n\r\n`).join('');

  inWholeRun(
    'has few answers waiting while it reads nothing, and all of them in order once it reads',
    async () => {
      const socket = client();
      socket.pause();
      socket.write(requests('', MANY));
      await sleep(300);
      expect(begun.length).toBeGreaterThan(0);
      expect(begun.length).toBeLessThan(MANY / 2);
      let answers = 0;
      let bytes = 0;
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        answers += chunk.toString('latin1').split('HTTP/1.1 200').length - 1;
      });
      socket.resume();
      while (bytes < MANY * ANSWER.length) await once(socket, 'data');
      expect(answers).toBe(MANY);
      expect(begun).toEqual(Array.from({ length: MANY }, (_, i) => `/${i}`));
    },
  );

  it('lets another client be answered between its requests', async () => {
    const socket = client();
    socket.resume();
    socket.write(requests('', MANY));
    await once(socket, 'data');
    const other = client();
    other.write(requests('other', 1));
    await once(other, 'data');
    expect(begun.indexOf('/other0')).toBeGreaterThanOrEqual(0);
    expect(begun.indexOf('/other0')).toBeLessThan(MANY / 2);
  });

  it('is closed where more of them come at once than may wait', async () => {
    const socket = client();
    socket.on('error', () => {});
    socket.resume();
    socket.write(requests('', 105));
    await once(socket, 'close');
    expect(crowded).toBe(1);
    expect(begun.length).toBeLessThan(105);
    const other = client();
    other.write(requests('', 104));
    other.resume();
    while (begun.at(-1) !== '/103') await once(other, 'data');
    expect(crowded).toBe(1);
  });

  inWholeRun('may send any number of them where it reads the answers meanwhile', async () => {
    const socket = client();
    let asked = 0;
    let bytes = 0;
    const ask = () => {
      socket.write(requests('', 10));
      asked += 10;
    };
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (asked < 300 && asked - bytes / ANSWER.length < 50) ask();
    });
    ask();
    while (bytes < 300 * ANSWER.length) await once(socket, 'data');
    expect(crowded).toBe(0);
    expect(begun).toHaveLength(300);
  });

  it('is not served on after its connection has ended', async () => {
    const socket = client();
    socket.pause();
    socket.write(requests('', MANY));
    await sleep(100);
    socket.destroy();
    await sleep(100);
    const before = begun.length;
    await sleep(100);
    expect(begun).toHaveLength(before);
    expect(before).toBeLessThan(MANY / 2);
  });
});
