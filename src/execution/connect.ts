import { fault, MissingError } from '../formats/index.js';
import { type ChildKind, startChild } from './child-process.js';
import { Connection, RefusedError } from './connection.js';
import { type Device, deviceText, virtualThreads } from './device.js';
import type { MemoryGuard } from './memory-guard.js';
import { whatIsMissing } from './missing.js';
import { checkOnnxRuntime } from './onnx-runtime.js';
import type { StartAnswer, StartRequest } from './protocol.js';

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

/** Connected is a connection whose child has started its provider, and the providers of its build of ONNX Runtime. */
interface Connected<Request extends { readonly op: string }, Answers extends Record<Request['op'], unknown>> {
  readonly connection: Connection<Request, Answers>;
  readonly backends: readonly string[];
}

/**
 * connect starts the child of an executor and its device's provider, and runs a tiny model on it. Where a pinned child
 * does not come up, it tries once more without pinning.
 * @throws MissingError when ONNX Runtime or the provider is missing, or the provider cannot start (saying what is
 *   missing); ExecutionError when the child process cannot be started, ends, or does not start the provider within a
 *   minute
 */
export async function connect<
  Request extends { readonly op: string },
  Answers extends Record<Request['op'], unknown>,
>(kind: ChildKind, device: Device, options: ExecutorOptions): Promise<Connected<Request, Answers>> {
  checkOnnxRuntime();
  const { virtual = 1, name = deviceText(device), cores, memory, signal } = options;
  const child = startChild(device, { kind, virtual, cores });
  const connection = new Connection<Request, Answers>(child, { name, device, memory });
  const close = (graceMs: number) => connection.close({ op: 'close' } as never, graceMs);
  const kill = () => void close(0);
  if (signal?.aborted) kill();
  signal?.addEventListener('abort', kill);
  void connection.exited.then(() => signal?.removeEventListener('abort', kill));
  try {
    const request: StartRequest = { op: 'open', device, threads: virtualThreads(device, virtual) };
    const { backends } = (await connection.open(request as never)) as StartAnswer;
    return { connection, backends };
  } catch (error) {
    const words = connection.lastWords();
    await close(500);
    if (!(error instanceof RefusedError)) {
      // A sandbox may have taskset and forbid its use.
      if (connection.cores === undefined || signal?.aborted) throw error;
      const { cores: _notAllowed, ...unpinned } = options;
      return await connect(kind, device, unpinned);
    }
    const { why, advice } = whatIsMissing(device.provider, error.message, words);
    throw new MissingError(`use device ${name}`, [fault(why)], advice);
  }
}
