/**
 * This is the entry of an executor's child process. It carries messages between the parent's socket and the thread that
 * holds the sessions, so that the next request's tensors arrive while one runs. When the parent is gone, this process
 * ends.
 */
import { Worker } from 'node:worker_threads';
import { openSocket, writeReply } from './child-socket.js';
import { MessageReader, type RawMessage } from './frames.js';
import { freeMemory } from './free-memory.js';
import { MemoryPool } from './memory-pool.js';
import type { Call } from './protocol.js';
import type { ThreadReply } from './session-thread.js';

const SOCKET_FD = 3;
/** The payloads whose memory is kept for later ones. */
const PIECES_KEPT = 4;

// The parent decides what Ctrl-C means.
process.on('SIGINT', () => {});

const pool = new MemoryPool({ pieces: PIECES_KEPT });
const thread = new Worker(new URL('./session-thread.js', import.meta.url), { stdout: false, stderr: false });
const socket = openSocket(SOCKET_FD, new MessageReader<Call>(hand, (bytes) => pool.take(bytes)));
let released = false;

function hand(message: RawMessage<Call>): void {
  thread.postMessage(message, message.payload.byteLength > 0 ? [message.payload] : []);
}

thread.on('message', ({ reply, tensors, used }: ThreadReply) => {
  pool.give(used);
  // Outputs may be large, and nobody else has them.
  writeReply(socket, { reply, tensors }, (chunks) => chunks.forEach(freeMemory));
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
