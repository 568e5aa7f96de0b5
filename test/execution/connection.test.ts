import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { Child, Exit } from '../../src/execution/child-process.js';
import type { ComponentAnswers, ComponentRequest } from '../../src/execution/component-protocol.js';
import { Connection } from '../../src/execution/connection.js';
import { encodeMessage, MessageReader } from '../../src/execution/frames.js';
import type { Call } from '../../src/execution/protocol.js';

/** A child that a test plays: it sees what comes by which socket, answers, and ends. */
function played() {
  const came: string[] = [];
  const [socket, modelSocket, answers] = [new PassThrough(), new PassThrough(), new PassThrough()];
  const hears = (stream: PassThrough, name: string) => {
    const reader = new MessageReader<Call<ComponentRequest>>(
      ({ head }) => came.push(`${head.id} ${head.request.op} ${name}`),
      (bytes) => new ArrayBuffer(bytes),
    );
    stream.on('data', (chunk: Uint8Array) => reader.push(chunk));
  };
  hears(socket, 'first');
  hears(modelSocket, 'second');
  // What the connection writes goes one way, and what it reads comes another.
  const duplex = Object.assign(new EventEmitter(), {
    cork: () => socket.cork(),
    uncork: () => socket.uncork(),
    write: (chunk: Uint8Array) => socket.write(chunk),
  });
  answers.on('data', (chunk: Buffer) => duplex.emit('data', new Uint8Array(chunk)));
  let end = (_exit: Exit) => {};
  const exited = new Promise<Exit>((resolve) => {
    end = resolve;
  });
  const process = { pid: 1 << 30, kill: () => end({ code: null, signal: 'SIGKILL' }), ref: () => {} };
  const child = {
    process,
    socket: duplex as unknown as Socket,
    modelSocket: modelSocket as unknown as Socket,
    cores: undefined,
    lastWords: () => '',
    exited,
  } as unknown as Child;
  const connection = new Connection<ComponentRequest, ComponentAnswers>(child, {
    name: 'fast',
    device: { provider: 'cpu' },
  });
  const answer = (id: number) => {
    for (const chunk of encodeMessage({ id, answer: {} }, {})) answers.write(chunk);
  };
  return { connection, came, answer, end: () => end({ code: 0, signal: null }) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
const LOAD = {
  op: 'load',
  source: { dataLocations: [] },
  choice: { optimization: 'all', memoryPattern: true, prepacking: true },
  tensors: { inputs: [], outputs: [] },
} as const;

describe('Connection', () => {
  it('sends whole models by a socket of their own, and close() after their answers', async () => {
    const { connection, came, answer, end } = played();
    const load = connection.call('load m', LOAD, { isModel: true });
    const stats = connection.call('count', { op: 'stats' });
    const closed = connection.close({ op: 'close' }, 60_000);
    await turn();
    expect(came.toSorted()).toEqual(['0 load second', '1 stats first']);
    answer(1);
    await stats;
    await turn();
    expect(came).toHaveLength(2);
    answer(0);
    await load;
    await turn();
    await turn();
    expect(came.at(-1)).toBe('2 close first');
    end();
    await closed;
  });

  it('ends a child that does not answer for a model within the grace time of close()', async () => {
    const { connection, came } = played();
    const load = connection.call('load m', LOAD, { isModel: true }).catch((error: Error) => error.message);
    await connection.close({ op: 'close' }, 10);
    expect(await load).toMatch(/Cannot load m on fast: its process \d+ ended by SIGKILL/);
    expect(came).toEqual(['0 load second']);
  });
});
