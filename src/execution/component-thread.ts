/**
 * This thread of a component executor's child process holds the session of one model at a time. It handles one request
 * at a time.
 */
import { parentPort } from 'node:worker_threads';
import { InferenceSession } from 'onnxruntime-node';
import { buffersOf } from './batch-inputs.js';
import { MODEL_BYTES, taskTensor } from './component-protocol.js';
import type { Device } from './device.js';
import { freeMemory } from './free-memory.js';
import type { RunEnd, ThreadAsked, ThreadLoad, ThreadRun, ThreadTold } from './model-thread.js';
import type { LoadedModel } from './protocol.js';
import { releaseSession, sessionOfFile, startProvider, timedRun, timedSession } from './session.js';
import { sessionOptions } from './session-options.js';
import { ChangedFilesError } from './verified-model.js';

interface Done {
  readonly value: unknown;
  /** The memory that moves to the main thread with it. */
  readonly moved?: readonly ArrayBuffer[];
}

if (parentPort === null) throw new Error('component-thread.js runs as a worker thread');
const port = parentPort;
let held: { readonly session: InferenceSession; readonly device: Device } | undefined;
let queue: Promise<void> = Promise.resolve();

port.on('message', ({ id, asked }: { id: number; asked: ThreadAsked }) => {
  queue = queue.then(() => answer(id, asked));
});

async function answer(id: number, asked: ThreadAsked): Promise<void> {
  if (asked.op === 'end') {
    port.close();
    return;
  }
  try {
    const { value, moved = [] } = await done(asked);
    send({ id, value }, moved);
  } catch (error) {
    const isOfFiles = error instanceof ChangedFilesError;
    send({ id, error: messageOf(error), isOfFiles });
  }
}

async function done(asked: Exclude<ThreadAsked, { op: 'end' }>): Promise<Done> {
  switch (asked.op) {
    case 'open':
      return { value: await startProvider(asked.device, asked.threads) };
    case 'load':
      return { value: await load(asked.load) };
    case 'run':
      return await run(asked);
    case 'release':
      await release();
      return { value: undefined };
  }
}

async function load(asked: ThreadLoad): Promise<Omit<LoadedModel, 'model'>> {
  const { device, threads, source, choice, bytes } = asked;
  const options = sessionOptions(device, threads, choice);
  const create = () =>
    'path' in source ? sessionOfFile(source, options) : sessionOfBytes(asked, source.dataLocations, options);
  try {
    const { session, loaded } = await timedSession(create);
    held = { session, device };
    return loaded;
  } finally {
    // The session has copied what it needs, and the garbage collector would take its time.
    for (const buffer of buffersOf(bytes)) freeMemory(new Uint8Array(buffer));
  }
}

async function sessionOfBytes(
  { bytes }: ThreadLoad,
  locations: readonly string[],
  options: InferenceSession.SessionOptions,
): Promise<InferenceSession> {
  const of = (name: string) => bytes[name]!.data as Uint8Array;
  const externalData = locations.map((path, i) => ({ path, data: of(taskTensor(i, path)) }));
  return await InferenceSession.create(of(MODEL_BYTES), { ...options, externalData });
}

async function run({ feeds, fetches }: ThreadRun): Promise<Done> {
  const back = buffersOf(feeds);
  try {
    if (held === undefined) throw new Error('the thread holds no model');
    const { outputs, times } = await timedRun(held, feeds, fetches);
    const end: RunEnd = { feeds, outputs, times };
    return { value: end, moved: [...back, ...buffersOf(outputs)] };
  } catch (error) {
    const end: RunEnd = { feeds, error: messageOf(error) };
    return { value: end, moved: back };
  }
}

async function release(): Promise<void> {
  if (held !== undefined) await releaseSession(held.session);
  held = undefined;
}

/** Outputs are moved without a copy; if a later ONNX Runtime owns their memory, they are cloned instead. */
function send(told: ThreadTold, moved: readonly ArrayBuffer[] = []): void {
  try {
    port.postMessage(told, moved);
  } catch {
    port.postMessage(told);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
