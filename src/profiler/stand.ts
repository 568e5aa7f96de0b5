import {
  assignCores,
  type Device,
  type Executor,
  type MeasureStop,
  monotonicNs,
  startExecutor,
  type Tensors,
  tensorBytes,
  virtualThreads,
} from '../execution/index.js';
import { commonWindow, rotationsOf, spanMs } from './statistics.js';

/** A whole device as v virtual GPUs, each an executor with 1/v of it, all running the same at the same time. */
export interface Stand {
  /** Loads a model on every virtual GPU. */
  load(path: string): Promise<LoadedCopies>;
  /** Every virtual GPU runs the parts in turn, again and again. */
  rotate(parts: readonly StandPart[], stop: MeasureStop): Promise<Rotated>;
  /** Waits no longer than `graceMs` for what is under way. */
  close(options?: { readonly graceMs?: number }): Promise<void>;
}

export interface LoadedCopies {
  /** The slowest copy's. */
  readonly loadMs: number;
  /** What each executor calls it. */
  readonly models: readonly number[];
  release(): Promise<void>;
}

/** A model as each executor calls it, and what it is fed. */
export interface StandPart {
  readonly models: readonly number[];
  readonly feeds: Tensors;
}

export interface Rotated {
  /** By part, the durations in µs of the runs that all copies were busy for. */
  readonly durationsUs: number[][];
  /** Of the copy that made the fewest. */
  readonly rotations: number;
  /** Of the copy that took longest. */
  readonly elapsedMs: number;
}

/** Time for the slowest copy to be told before all start, and for each byte it is sent. */
const LEAD_NS = 5e6;
const LEAD_NS_PER_BYTE = 2;

/** Starts v executors on their shares of the device, pinned to cores of their own where the system allows. */
export async function startStand(device: Device, virtual: number): Promise<Stand> {
  const threads = virtualThreads(device, virtual);
  const cores = device.provider === 'cpu' ? assignCores(new Array<number>(virtual).fill(threads)) : [];
  const started = await Promise.allSettled(
    Array.from({ length: virtual }, (_, i) =>
      startExecutor(device, { virtual, ...(cores[i] === undefined ? {} : { cores: cores[i] }) }),
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
    loadMs: Math.max(...loaded.map(({ loadMs }) => loadMs)),
    release: async () => {
      await Promise.all(executors.map((executor, i) => executor.release(models[i]!)));
    },
  };
}

async function rotate(
  executors: readonly Executor[],
  parts: readonly StandPart[],
  stop: MeasureStop,
): Promise<Rotated> {
  const startAt = executors.length === 1 ? {} : { startAtNs: startTime(executors.length, parts) };
  const copies = await Promise.all(
    executors.map((executor, i) =>
      executor.measureRotation(
        parts.map(({ models, feeds }) => ({ model: models[i]!, feeds })),
        { ...stop, ...startAt },
      ),
    ),
  );
  return {
    durationsUs: commonWindow(copies),
    rotations: Math.min(...copies.map(rotationsOf)),
    elapsedMs: Math.max(...copies.map(spanMs)),
  };
}

/** When every copy will have what it is sent. */
function startTime(copies: number, parts: readonly StandPart[]): number {
  const bytes = parts
    .flatMap(({ feeds }) => Object.values(feeds))
    .reduce((sum, tensor) => sum + tensorBytes(tensor), 0);
  return monotonicNs() + LEAD_NS + LEAD_NS_PER_BYTE * bytes * copies;
}
