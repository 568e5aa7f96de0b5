import { itemAt, largestOf, smallestOf } from '../collections/index.js';
import {
  assignCores,
  type Device,
  type Executor,
  type ExecutorOptions,
  type MeasurePace,
  type MemoryGuard,
  measureRotation,
  type StartExecutor,
  startExecutor,
  type Tensors,
  virtualThreads,
} from '../execution/index.js';
import { commonWindow, rotationCount, spanMs, type TimedRun } from './statistics.js';

/** Stand is a whole device as v virtual GPUs: executors with 1/v of it each, all running the same at the same time. */
export interface Stand {
  /** Loads a model on every virtual GPU. */
  load(path: string): Promise<LoadedCopies>;
  /** Every virtual GPU runs the models in turn, each on its feeds, again and again. */
  rotate(parts: readonly FedCopies[], stop: MeasurePace): Promise<Rotated>;
  /** Closes all executors. It waits no longer than `graceMs` for calls under way. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

export interface LoadedCopies {
  /** The load time of the slowest copy. */
  readonly loadMs: number;
  /** The index of the model in each executor. */
  readonly models: readonly number[];
  release(): Promise<void>;
}

/** FedCopies is a model on every virtual GPU, with what each copy is fed. */
export interface FedCopies {
  readonly copies: LoadedCopies;
  readonly feeds: Tensors;
}

export interface Rotated {
  /** By part, the runs during which all copies were busy. */
  readonly runs: TimedRun[][];
  /** The rotations of the copy that made the fewest. */
  readonly rotations: number;
  /** The time of the copy that took longest. */
  readonly elapsedMs: number;
}

/** OneStand keeps at most one stand of a device open. */
export class OneStand {
  private open: { readonly virtual: number; readonly stand: Stand } | undefined;

  constructor(
    private readonly device: Device,
    private readonly memory: MemoryGuard,
    private readonly options: {
      readonly start?: StartExecutor | undefined;
      readonly beforeStart?: () => Promise<void>;
    } = {},
  ) {}

  /** Gives the stand with this many virtual GPUs: the one that is open, or a new one in its place. */
  async of(virtual: number): Promise<Stand> {
    if (this.open?.virtual === virtual) return this.open.stand;
    await this.close();
    await this.options.beforeStart?.();
    const { start = startExecutor } = this.options;
    const stand = await startStand(this.device, virtual, (options) =>
      start(this.device, { ...options, memory: this.memory }),
    );
    this.open = { virtual, stand };
    return stand;
  }

  async close(options?: { readonly graceMs?: number }): Promise<void> {
    const open = this.open;
    this.open = undefined;
    await open?.stand.close(options);
  }
}

/** startStand starts v executors on their shares of the device, each pinned to its own cores where that is possible. */
async function startStand(
  device: Device,
  virtual: number,
  start: (options: ExecutorOptions) => Promise<Executor>,
): Promise<Stand> {
  const threads = virtualThreads(device, virtual);
  const cores = device.provider === 'cpu' ? assignCores(new Array<number>(virtual).fill(threads)) : [];
  const started = await Promise.allSettled(
    Array.from({ length: virtual }, (_, i) =>
      start({ virtual, ...(cores[i] === undefined ? {} : { cores: cores[i] }) }),
    ),
  );
  const executors = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const close: Stand['close'] = async (options) => {
    await Promise.all(executors.map((executor) => executor.close(options)));
  };
  const failed = started.find((result) => result.status === 'rejected');
  if (failed !== undefined) {
    await close();
    throw failed.reason;
  }
  return {
    load: (path) => loadCopies(executors, path),
    rotate: (parts, stop) => rotate(executors, parts, stop),
    close,
  };
}

async function loadCopies(executors: readonly Executor[], path: string): Promise<LoadedCopies> {
  const loaded = await Promise.all(executors.map((executor) => executor.load(path)));
  const models = loaded.map(({ model }) => model);
  return {
    models,
    loadMs: largestOf(loaded.map(({ loadMs }) => loadMs)),
    release: async () => {
      await Promise.all(executors.map((executor, i) => executor.release(itemAt(models, i))));
    },
  };
}

async function rotate(
  executors: readonly Executor[],
  parts: readonly FedCopies[],
  stop: MeasurePace,
): Promise<Rotated> {
  const copies = await Promise.all(
    executors.map((executor, i) =>
      measureRotation(
        executor,
        parts.map(({ copies: { models }, feeds }) => ({ model: itemAt(models, i), feeds })),
        stop,
      ),
    ),
  );
  return {
    runs: commonWindow(copies),
    rotations: smallestOf(copies.map(rotationCount)),
    elapsedMs: largestOf(copies.map(spanMs)),
  };
}
