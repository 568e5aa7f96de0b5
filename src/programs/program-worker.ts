/** The thread of a program: it loads the module, and runs it for one request after another. It has no models, and may be ended. */
import { fileURLToPath } from 'node:url';
import { getHeapStatistics } from 'node:v8';
import { parentPort, workerData } from 'node:worker_threads';
import type { Fault } from '../formats/index.js';
import { streamOf } from '../random/index.js';
import { Attribution } from './attribution.js';
import { replaceGlobals } from './handed-in.js';
import {
  type CalledFace,
  FULL_EXIT,
  type KeyedAnswer,
  NO_RUN,
  type ThreadAnswer,
  type ThreadData,
} from './messages.js';
import { moduleFaults } from './module-faults.js';
import type { Program } from './program.js';
import { ServedProgram } from './served-program.js';
import { syntaxPlace, toldError } from './told-error.js';

const { url, components, limits, seed, nowMs, key, beat } = workerData as ThreadData;
// A module that thinks that it is in a thread of its own may post messages, which are no answers.
delete (workerData as { key?: string }).key;
const later = setImmediate;
const exit = process.exit;
const heartbeat = new Int32Array(beat);
const attribution = new Attribution(heartbeat);
const ofModule = streamOf(seed, 'program');
let served: ServedProgram | undefined;

replaceGlobals({
  nowMs: () => served?.acting?.nowMs ?? nowMs,
  random: () => served?.acting?.random() ?? ofModule.uniform(),
  bound: (act) => attribution.bound(act),
});
attribution.resume(NO_RUN);

process.on('unhandledRejection', (error, promise) => served?.ownerOf(promise)?.left(error));
process.on('uncaughtException', (error) => {
  if (served?.acting === undefined) console.error(error);
  else served.acting.left(error);
});

await import(url).then(take, (error: unknown) => refuse([loadFault(error)]));

function take(module: Readonly<Record<string, unknown>>): void {
  const faults = moduleFaults(module);
  if (faults.length > 0) refuse(faults);
  else serve(module);
}

function serve(module: Readonly<Record<string, unknown>>): void {
  const { inputs, outputs } = module as unknown as CalledFace;
  // A module may change the object that it exports, or hold more in it than can be sent between threads.
  const face = JSON.parse(JSON.stringify({ inputs, outputs })) as CalledFace;
  const program = module.default as Program;
  const thread = new ServedProgram({
    program,
    face,
    components,
    limits,
    seed,
    attribution,
    beat: heartbeat,
    answer,
    later,
    leaveIfFull,
  });
  served = thread;
  parentPort?.on('message', (message) => thread.take(message));
  answer({ answer: 'loaded', face });
}

function leaveIfFull(): void {
  if (getHeapStatistics().external_memory > limits.arraysMiB * 2 ** 20) exit(FULL_EXIT);
}

function refuse(faults: readonly Fault[]): void {
  answer({ answer: 'refused', faults });
}

function answer(told: ThreadAnswer): void {
  const keyed: KeyedAnswer = { key, answer: told };
  parentPort?.postMessage(keyed);
}

function loadFault(error: unknown): Fault {
  const { code } = (error ?? {}) as { code?: unknown };
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION' || code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX')
    return {
      path: '',
      message: `Node ${process.versions.node} runs no such file; write the program in JavaScript, as .mjs or .js with types in comments, or compile it first`,
    };
  const place = error instanceof SyntaxError ? syntaxPlace(fileURLToPath(url)) : '';
  return { path: '', message: `its module ${toldError(error)}${place}` };
}
