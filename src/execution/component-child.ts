/**
 * This is the entry of a component executor's child process. This thread keeps the outputs and holds the lock of the
 * device; the sessions are in threads of their own. Requests that hold whole models come over a socket of their own, so
 * that no batch waits for their bytes. When the parent is gone, this process ends.
 */
import { openSocket, writeReply } from './child-socket.js';
import type { ComponentRequest } from './component-protocol.js';
import { Components } from './components.js';
import { MessageReader, type RawMessage } from './frames.js';
import { MemoryPool, uncleared } from './memory-pool.js';
import { WorkerModelThread } from './model-thread.js';
import type { Call, Reply } from './protocol.js';
import { ChangedFilesError } from './verified-model.js';

const SOCKET_FD = 3;
const MODEL_SOCKET_FD = 4;
/** The payloads and stacked inputs whose memory is kept for later ones, and their size in all. */
const POOL = { pieces: 8, bytes: 2 ** 28 };

// The parent decides what Ctrl-C means.
process.on('SIGINT', () => {});

const pool = new MemoryPool(POOL);
const components = new Components(() => new WorkerModelThread(), pool);
let isClosed = false;

const socket = openSocket(
  SOCKET_FD,
  new MessageReader<Call<ComponentRequest>>(answer, (bytes) => pool.take(bytes)),
);
const models = openSocket(MODEL_SOCKET_FD, new MessageReader<Call<ComponentRequest>>(answer, uncleared));

async function answer(message: RawMessage<Call<ComponentRequest>>): Promise<void> {
  const { id, request } = message.head;
  try {
    const { answer, tensors = {}, done = () => {} } = await components.handle(request, message);
    writeReply(socket, { reply: { id, answer }, tensors }, done);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const reply: Reply = { id, error: said, ...(error instanceof ChangedFilesError && { isOfFiles: true }) };
    writeReply(socket, { reply, tensors: {} }, () => {});
  }
  if (request.op === 'close') {
    isClosed = true;
    socket.end(() => process.exit(0));
  }
}

// A thread may be running a model. An orderly exit would wait for it, and process.exit() would abort.
const parentIsGone = () => {
  if (!isClosed) process.kill(process.pid, 'SIGKILL');
};
for (const one of [socket, models]) {
  one.on('end', parentIsGone);
  one.on('error', parentIsGone);
}
