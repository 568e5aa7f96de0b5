/** This thread of an executor's child process holds the sessions. It handles one request at a time, in order. */
import { parentPort } from 'node:worker_threads';
import { type RawMessage, tensorsOf } from './frames.js';
import type { Call, Reply, Tensors } from './protocol.js';
import { SessionHolder } from './session-holder.js';
import { ChangedFilesError } from './verified-model.js';

/** ThreadReply goes to the child's main thread: what to send, and the request's memory for reuse. */
export interface ThreadReply {
  readonly reply: Reply;
  readonly tensors: Tensors;
  readonly used: ArrayBuffer;
}

if (parentPort === null) throw new Error('session-thread.js runs as a worker thread');
const port = parentPort;
const holder = new SessionHolder();
let queue: Promise<void> = Promise.resolve();

port.on('message', (message: RawMessage<Call>) => {
  queue = queue.then(() => answer(message));
});

async function answer(message: RawMessage<Call>): Promise<void> {
  const { id, request } = message.head;
  const used = message.payload;
  try {
    const { answer, tensors = {} } = await holder.handle(request, tensorsOf(message));
    send({ reply: { id, answer }, tensors, used });
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const isOfFiles = error instanceof ChangedFilesError;
    send({ reply: { id, error: said, ...(isOfFiles && { isOfFiles }) }, tensors: {}, used });
  }
  if (request.op === 'close') port.close();
}

/** Outputs are moved without a copy; if a later ONNX Runtime owns their memory, they are cloned instead. */
function send(reply: ThreadReply): void {
  const buffers = new Set<ArrayBuffer>([reply.used]);
  for (const { data } of Object.values(reply.tensors)) {
    if ('buffer' in data && data.buffer instanceof ArrayBuffer) buffers.add(data.buffer);
  }
  try {
    port.postMessage(reply, [...buffers]);
  } catch {
    port.postMessage(reply);
  }
}
