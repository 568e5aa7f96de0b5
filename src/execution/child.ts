/**
 * This is the entry of an executor's child process. It carries messages between the parent's socket and the thread that
 * holds the sessions, so that the next request's tensors arrive while one runs. When the parent is gone, this process
 * ends.
 */
import { type OnReadOpts, Socket, type SocketConstructorOpts } from 'node:net';
import { Worker } from 'node:worker_threads';
import { BufferPool, encodeMessage, MessageReader, type RawMessage } from './frames.js';
import { freeMemory } from './free-memory.js';
import type { Call } from './protocol.js';
import type { ThreadReply } from './session-thread.js';

const READ_BYTES = 1 << 20;
const SOCKET_FD = 3;

// The parent decides what Ctrl-C means.
process.on('SIGINT', () => {});

const pool = new BufferPool();
const thread = new Worker(new URL('./session-thread.js', import.meta.url), { stdout: false, stderr: false });
const reader = new MessageReader<Call>(hand, (bytes) => pool.take(bytes));
// All chunks are read into one buffer, rather than into a new one for every 64 KB.
const onread: OnReadOpts = {
  buffer: Buffer.allocUnsafeSlow(READ_BYTES),
  callback: (bytes, buffer) => {
    reader.push(buffer.subarray(0, bytes));
    return true;
  },
};
const options: SocketConstructorOpts & { onread: OnReadOpts } = {
  fd: SOCKET_FD,
  readable: true,
  writable: true,
  onread,
};
const socket = new Socket(options);
let released = false;

function hand(message: RawMessage<Call>): void {
  thread.postMessage(message, message.payload.byteLength > 0 ? [message.payload] : []);
}

thread.on('message', ({ reply, tensors, used }: ThreadReply) => {
  if (used.byteLength > 0) pool.give(used);
  const chunks = encodeMessage(reply, tensors);
  socket.cork();
  for (const chunk of chunks) socket.write(chunk);
  // Outputs may be large, and nobody else has them.
  socket.write('', () => chunks.forEach(freeMemory));
  socket.uncork();
});
thread.on('error', (error) => {
  process.stderr.write(`${error.stack ?? error.message}\n`);
  process.exit(1);
});
thread.on('exit', () => {
  released = true;
  socket.end(() => process.exit(0));
});
// The thread may be running a model. An orderly exit would wait for it, and process.exit() would abort.
const parentIsGone = () => {
  if (!released) process.kill(process.pid, 'SIGKILL');
};
socket.on('end', parentIsGone);
socket.on('error', parentIsGone);
