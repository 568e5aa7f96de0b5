import {
  assignCores,
  type Device,
  type Executor,
  type LoadedModel,
  monotonicNs,
  startExecutor,
  type Tensors,
  virtualThreads,
} from '../execution/index.js';
import { commonWindow } from './statistics.js';
import type { Limits } from './types.js';

/** A whole device as v virtual GPUs, each an executor with 1/v of it, all running the same at the same time. */
export interface Stand {
  /** Loads a model on every virtual GPU. */
  load(path: string): Promise<LoadedCopies>;
  close(): Promise<void>;
}

export interface LoadedCopies {
  /** The slowest copy's. */
  readonly loadMs: number;
  /** Durations in µs of the runs that all copies were busy for. */
  measure(feeds: Tensors, limits: Limits): Promise<number[]>;
  release(): Promise<void>;
}

/** Time for the slowest copy to be told and warm before all start. */
const LEAD_NS = 5e6;

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
  const close = async () => {
    await Promise.all(executors.map((executor) => executor.close()));
  };
  const failed = started.find((result) => result.status === 'rejected');
  if (failed !== undefined) {
    await close();
    throw failed.reason;
  }
  return { load: (path) => loadCopies(executors, path), close };
}

async function loadCopies(executors: readonly Executor[], path: string): Promise<LoadedCopies> {
  const loaded = await Promise.all(executors.map((executor) => executor.load(path)));
  const models = loaded.map((copy: LoadedModel) => copy.model);
  const each = <T>(does: (executor: Executor, model: number) => Promise<T>) =>
    Promise.all(executors.map((executor, i) => does(executor, models[i]!)));
  return {
    loadMs: Math.max(...loaded.map(({ loadMs }) => loadMs)),
    measure: async (feeds, limits) => {
      const startAt = executors.length === 1 ? {} : { startAtNs: await startTime(each, feeds, limits) };
      return commonWindow(
        await each((executor, model) => executor.measure(model, feeds, { ...limits, ...startAt })),
      );
    },
    release: async () => {
      await each((executor, model) => executor.release(model));
    },
  };
}

/** When all copies will have warmed up: twice what a run takes with all of them running, for each warm-up run. */
async function startTime(
  each: <T>(does: (executor: Executor, model: number) => Promise<T>) => Promise<T[]>,
  feeds: Tensors,
  { warmupRuns }: Limits,
): Promise<number> {
  const runs = await each((executor, model) => executor.run(model, feeds));
  const slowestUs = Math.max(...runs.map(({ executionUs }) => executionUs));
  return monotonicNs() + 2 * warmupRuns * slowestUs * 1000 + LEAD_NS;
}
