import { resolve } from 'node:path';
import { fault, MissingError, withTemporaryFolder } from '../artifacts/index.js';
import { type Child, type Exit, startChild } from './child-process.js';
import { type Device, deviceText, virtualThreads } from './device.js';
import { ChangedModelError, ExecutionError, OutOfMemoryError } from './errors.js';
import { encodeMessage, MessageReader, type RawMessage, tensorsOf } from './frames.js';
import { freeMemory } from './free-memory.js';
import { type Failure, failureOfEnd, failureOfRefusal } from './lost.js';
import type { MemoryGuard } from './memory-guard.js';
import { uncleared } from './memory-pool.js';
import { whatIsMissing } from './missing.js';
import { checkOnnxRuntime } from './onnx-runtime.js';
import type {
  Answers,
  LoadedModel,
  NodeTiming,
  Reply,
  Request,
  RunTimes,
  Tensors,
  VerifyLoad,
} from './protocol.js';
import { AS_SERVED, type Optimization, type SessionChoice } from './session-choice.js';
import { checkFeeds } from './tensor.js';
import type { ModelDigests } from './verified-model.js';

/** RunResult holds a run's outputs by name, and the device's time with the hold-back of an emulated device. */
export interface RunResult extends RunTimes {
  readonly outputs: Tensors;
}

/** NodeTimings are ONNX Runtime's own times, without the hold-back of an emulated device. */
export interface NodeTimings {
  readonly runUs: number[];
  readonly nodes: NodeTiming[];
  /** The optimized graph, which gives the nodes their names; absent where the provider compiles the graph. */
  readonly optimizedModel?: Uint8Array;
}

/** NodeTimingOptions says how often the nodes of a graph are timed, and how it is optimized before. */
export interface NodeTimingOptions {
  readonly runs: number;
  /** The number of runs before those that count; 1 by default. */
  readonly warmupRuns?: number;
  /** How the graph is optimized; as in serving (`AS_SERVED`) by default. */
  readonly optimization?: Optimization;
}

/**
 * Executor is a virtual GPU: one child process with its sessions. It handles requests in the order in which they are
 * made; while one runs, the next is already sent over. A request rejects with ExecutionError when it fails or the child
 * ends (OutOfMemoryError where memory ran out), and with InputError when a feed is not in the array of its dtype. The
 * memory of feeds must not be changed until their request is answered. An idle executor does not keep the program
 * running, and a program that ends takes its executors with it.
 */
export interface Executor {
  readonly name: string;
  readonly device: Device;
  readonly pid: number;
  /** The cores that it is pinned to; undefined where it is not pinned. */
  readonly cores: readonly number[] | undefined;
  /**
   * load makes a session of an ONNX file, with the settings that serving uses unless options change them. With `digests`
   * it makes one of these bytes or none.
   */
  load(modelPath: string, options?: VerifiedLoadOptions): Promise<LoadedModel>;
  /** run runs a model once. Without `fetches` it returns every output that is a tensor. */
  run(model: number, feeds: Tensors, fetches?: readonly string[]): Promise<RunResult>;
  /** nodeTimings times each node of a file's graph in a session of its own. Keep runs × nodes below 100,000. */
  nodeTimings(modelPath: string, feeds: Tensors, options: NodeTimingOptions): Promise<NodeTimings>;
  release(model: number): Promise<void>;
  /**
   * close releases everything and ends the child, and kills it when it is not gone in the grace time (5 s). It never
   * rejects.
   */
  close(options?: { readonly graceMs?: number }): Promise<void>;
  /** exited resolves when the child is gone, for whatever reason. */
  readonly exited: Promise<Exit>;
}

/** VerifiedLoadOptions says how a session is made, and what the bytes of its files must be. */
interface VerifiedLoadOptions extends Partial<SessionChoice> {
  readonly digests?: ModelDigests;
}

/** ExecutorOptions says which part of its device an executor is, and who watches its memory. */
export interface ExecutorOptions {
  /** v, 1 by default: the executor is 1/v of the device; of a CPU, that share of its threads. */
  readonly virtual?: number;
  /** The cores to pin it to; ignored where the system cannot pin or does not allow one of them. */
  readonly cores?: readonly number[];
  /** The executor's name in errors; by default the device's text. */
  readonly name?: string;
  /** The guard that watches its memory; an executor that the guard ends fails with OutOfMemoryError. */
  readonly memory?: MemoryGuard;
  /** A signal whose abort ends the executor at once, also while it starts. */
  readonly signal?: AbortSignal | undefined;
}

const GRACE_MS = 5000;
/** TensorRT may build its engine for many seconds; a start that takes longer than this hangs. */
const START_MS = 60_000;

/**
 * startExecutor starts an executor and its device's provider, and runs a tiny model on it. Where a pinned child does
 * not come up, it tries once more without pinning.
 * @throws MissingError when ONNX Runtime or the provider is missing, or the provider cannot start (saying what is
 *   missing); ExecutionError when the child process cannot be started, ends, or does not start the provider within a
 *   minute
 */
export async function startExecutor(device: Device, options: ExecutorOptions = {}): Promise<Executor> {
  return (await openExecutor(device, options)).executor;
}

/** StartExecutor starts executors as `startExecutor` does, perhaps elsewhere. */
export type StartExecutor = typeof startExecutor;

/** openExecutor does as `startExecutor`, with the same errors, and lists the providers of its build of ONNX Runtime. */
export async function openExecutor(
  device: Device,
  options: ExecutorOptions = {},
): Promise<{ executor: Executor; backends: readonly string[] }> {
  checkOnnxRuntime();
  const virtual = options.virtual ?? 1;
  const name = options.name ?? deviceText(device);
  const executor = new ChildExecutor(
    name,
    device,
    startChild(device, virtual, options.cores),
    options.memory,
  );
  const threads = virtualThreads(device, virtual);
  const { signal } = options;
  const kill = () => void executor.close({ graceMs: 0 });
  if (signal?.aborted) kill();
  signal?.addEventListener('abort', kill);
  void executor.exited.then(() => signal?.removeEventListener('abort', kill));
  try {
    const { backends } = await executor.open(threads);
    return { executor, backends };
  } catch (error) {
    const words = executor.lastWords();
    await executor.close({ graceMs: 500 });
    if (!(error instanceof RefusedError)) {
      // A sandbox may have taskset and forbid its use.
      if (executor.cores === undefined || signal?.aborted) throw error;
      const { cores: _notAllowed, ...unpinned } = options;
      return await openExecutor(device, unpinned);
    }
    const { why, advice } = whatIsMissing(device.provider, error.message, words);
    throw new MissingError(`use device ${name}`, [fault(why)], advice);
  }
}

/** RefusedError is the child's answer that it could not do a request, as opposed to the child's end. */
class RefusedError extends ExecutionError {}

interface Pending {
  readonly op: Request['op'];
  readonly what: string;
  resolve(result: { answer: Answers[keyof Answers]; tensors: Tensors }): void;
  reject(error: Error): void;
}

class ChildExecutor implements Executor {
  readonly exited: Promise<Exit>;
  #pending = new Map<number, Pending>();
  #nextId = 0;
  #gone: Failure | undefined;
  /** Whether this executor has killed the child, so that the child's end says nothing about memory. */
  #killing = false;
  #closing: Promise<void> | undefined;

  constructor(
    readonly name: string,
    readonly device: Device,
    private readonly child: Child,
    private readonly memory: MemoryGuard | undefined,
  ) {
    this.memory?.watch(this.pid, () => this.child.process.kill('SIGKILL'));
    const reader = new MessageReader<Reply>((message) => this.#settle(message), uncleared);
    child.socket.on('data', (chunk: Uint8Array) => {
      reader.push(chunk);
      freeMemory(chunk);
    });
    // A write to a child that is gone fails here. The child's end says more, and is reported below.
    child.socket.on('error', () => {});
    this.exited = child.exited.then((exit) => {
      this.#end(exit);
      return exit;
    });
    this.#keepAlive(false);
  }

  get pid(): number {
    return this.child.process.pid ?? -1;
  }

  get cores(): readonly number[] | undefined {
    return this.child.cores;
  }

  lastWords(): string {
    return this.child.lastWords();
  }

  async open(threads: number): Promise<Answers['open']> {
    const kill = setTimeout(() => this.#kill(), START_MS);
    try {
      return (await this.#call('start', { op: 'open', device: this.device, threads })).answer;
    } finally {
      clearTimeout(kill);
    }
  }

  async load(modelPath: string, { digests, ...choice }: VerifiedLoadOptions = {}): Promise<LoadedModel> {
    const load = async (verify?: VerifyLoad): Promise<LoadedModel> => {
      const asked = { op: 'load', path: resolve(modelPath), ...AS_SERVED, ...choice } as const;
      const request = verify === undefined ? asked : { ...asked, verify };
      return (await this.#call(`load ${modelPath}`, request)).answer;
    };
    if (digests === undefined || digests.data.length === 0) return await load(digests && { digests });
    // What a session has mapped of it stays when the folder is gone.
    return await withTemporaryFolder('model', (folder) => load({ digests: absolute(digests), folder }));
  }

  async run(model: number, feeds: Tensors, fetches?: readonly string[]): Promise<RunResult> {
    const request = { op: 'run', model, ...(fetches === undefined ? {} : { fetches }) } as const;
    const { answer, tensors } = await this.#call('run a model', request, feeds);
    return { ...answer, outputs: tensors };
  }

  async nodeTimings(
    modelPath: string,
    feeds: Tensors,
    { runs, warmupRuns = 1, optimization = AS_SERVED.optimization }: NodeTimingOptions,
  ): Promise<NodeTimings> {
    return await withTemporaryFolder('timings', async (folder) => {
      const path = resolve(modelPath);
      const request = { op: 'nodeTimings', path, folder, runs, warmupRuns, optimization } as const;
      const { answer, tensors } = await this.#call(`time the nodes of ${modelPath}`, request, feeds);
      const optimizedModel = tensors.optimizedModel?.data as Uint8Array | undefined;
      return { ...answer, ...(optimizedModel === undefined ? {} : { optimizedModel }) };
    });
  }

  async release(model: number): Promise<void> {
    await this.#call('release a model', { op: 'release', model });
  }

  close({ graceMs = GRACE_MS }: { readonly graceMs?: number } = {}): Promise<void> {
    // One that closes already may be given less time.
    const kill = setTimeout(() => this.#kill(), graceMs);
    void this.exited.then(() => clearTimeout(kill));
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.child.process.ref();
    this.#call('close', { op: 'close' }).catch(() => {});
    await this.exited;
  }

  #kill(): void {
    this.#killing = true;
    this.child.process.kill('SIGKILL');
  }

  #call<Op extends Request['op']>(
    what: string,
    request: Extract<Request, { op: Op }>,
    tensors: Tensors = {},
  ): Promise<{ answer: Answers[Op]; tensors: Tensors }> {
    return new Promise((resolve, reject) => {
      if (this.#gone !== undefined) {
        reject(this.#failure(request.op, what, this.#gone));
        return;
      }
      const id = this.#nextId++;
      checkFeeds(tensors);
      const chunks = encodeMessage({ id, request }, tensors);
      const settle = resolve as Pending['resolve'];
      this.#pending.set(id, { op: request.op, what, resolve: settle, reject });
      if (this.#pending.size === 1) this.#keepAlive(true);
      this.child.socket.cork();
      for (const chunk of chunks) this.child.socket.write(chunk);
      this.child.socket.uncork();
    });
  }

  #settle(message: RawMessage<Reply>): void {
    const reply = message.head;
    const pending = this.#pending.get(reply.id);
    this.#pending.delete(reply.id);
    if (this.#pending.size === 0 && this.#closing === undefined) this.#keepAlive(false);
    if (pending === undefined) return;
    if ('error' in reply) pending.reject(this.#refusal(pending, reply));
    else pending.resolve({ answer: reply.answer, tensors: tensorsOf(message) });
  }

  /** The child is gone, so everything that waits for it fails. */
  #end(exit: Exit): void {
    const memory = this.memory?.unwatch(this.pid);
    const end = { words: this.lastWords(), killing: this.#killing, memory };
    this.#gone = failureOfEnd(this.pid, exit, end);
    for (const { op, what, reject } of this.#pending.values()) reject(this.#failure(op, what, this.#gone));
    this.#pending.clear();
  }

  #failure(op: Request['op'], what: string, { why, outOfMemory }: Failure): ExecutionError {
    const Kind = outOfMemory ? OutOfMemoryError : ExecutionError;
    return new Kind(`Cannot ${what} on ${this.name}: ${why}`, why, op === 'load');
  }

  #refusal(
    { op, what }: Pending,
    { error: said, isOfFiles }: Extract<Reply, { error: string }>,
  ): ExecutionError {
    if (op === 'open') return new RefusedError(said);
    if (isOfFiles) return new ChangedModelError(`Cannot ${what} on ${this.name}: ${said}`, said, true);
    return this.#failure(op, what, failureOfRefusal(said));
  }

  /**
   * Only a request under way keeps the program running, or closing until the child is gone. Every handle that reports
   * the child's end counts, because a killed child closes its socket first, and a program without handles would end
   * before the request has failed.
   */
  #keepAlive(yes: boolean): void {
    const { process, socket } = this.child;
    for (const handle of [process, process.stdout, process.stderr, socket]) {
      const held = handle as { ref?(): void; unref?(): void } | null;
      if (yes) held?.ref?.();
      else held?.unref?.();
    }
  }
}

function absolute({ sha256, data }: ModelDigests): ModelDigests {
  return { sha256, data: data.map((file) => ({ ...file, path: resolve(file.path) })) };
}
