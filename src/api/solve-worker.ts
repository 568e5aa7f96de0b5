import { performance } from 'node:perf_hooks';
import { parentPort, workerData } from 'node:worker_threads';
import {
  loadHighs,
  type PlanProgress,
  type PooledOutcome,
  type PooledProblem,
  planPooled,
} from '../milp/index.js';

/** What the solver thread is given. */
export interface SolveRequest {
  readonly problem: PooledProblem;
  readonly gap?: number;
  readonly work?: number;
  readonly timeLimitMs?: number;
  /** Set to 1 to end the search with what it has. */
  readonly interrupt: Int32Array;
}

export type WorkerMessage =
  | { readonly kind: 'progress'; readonly progress: PlanProgress }
  | { readonly kind: 'outcome'; readonly outcome: PooledOutcome };

const { problem, interrupt, ...limits } = workerData as SolveRequest;
const tell = (message: WorkerMessage): void => parentPort?.postMessage(message);
const outcome = planPooled(problem, {
  ...limits,
  highs: await loadHighs(),
  clock: () => performance.now(),
  interrupted: () => Atomics.load(interrupt, 0) === 1,
  onProgress: (progress) => tell({ kind: 'progress', progress }),
});
tell({ kind: 'outcome', outcome });
