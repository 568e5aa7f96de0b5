import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { InputError } from '../artifacts/index.js';
import type { PlanProgress } from '../milp/index.js';
import type { SolveAnswers, SolveJob, SolveMessage } from './solve-worker.js';

/** A thread with a solver on it. It does one job at a time; the caller closes it. */
export class SolverThread {
  private readonly interrupt = new Int32Array(new SharedArrayBuffer(4));
  private readonly worker: Worker;
  private failed: Error | undefined;
  private onFailure: ((error: Error) => void) | undefined;

  /** @param signal when aborted, the job that runs and all later ones end with what they have */
  constructor(private readonly signal?: AbortSignal) {
    const entry = createRequire(import.meta.url).resolve('#dist/src/api/solve-worker.js');
    this.worker = new Worker(entry, { workerData: this.interrupt });
    this.worker.once('error', (error) => this.fail(error as Error));
    this.worker.once('exit', () => this.fail(new Error('the solver thread ended without an answer')));
    if (signal?.aborted) this.onAbort();
    signal?.addEventListener('abort', this.onAbort, { once: true });
  }

  /**
   * Runs a job to its end.
   * @throws InputError where the planner refuses what it was given
   */
  run<K extends SolveJob['kind']>(
    job: Extract<SolveJob, { kind: K }>,
    onProgress?: (progress: PlanProgress) => void,
  ): Promise<SolveAnswers[K]> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        this.worker.off('message', onMessage);
        this.onFailure = undefined;
        settle();
      };
      const onMessage = (message: SolveMessage): void => {
        if (message.kind === 'progress') onProgress?.(message.progress);
        else if (message.kind === 'answer') end(() => resolve(message.answer as SolveAnswers[K]));
        else end(() => reject(errorOf(message)));
      };
      if (this.failed !== undefined) return reject(this.failed);
      this.worker.on('message', onMessage);
      this.onFailure = (error) => end(() => reject(error));
      this.worker.postMessage(job);
    });
  }

  async close(): Promise<void> {
    this.signal?.removeEventListener('abort', this.onAbort);
    await this.worker.terminate();
  }

  private readonly onAbort = (): void => {
    Atomics.store(this.interrupt, 0, 1);
  };

  private fail(error: Error): void {
    this.failed ??= error;
    this.onFailure?.(this.failed);
  }
}

/** What a search is at, for people. */
export function progressText({ phase, value, bound }: PlanProgress): string {
  const best = value === undefined ? '' : `, best ${value.toPrecision(6)}`;
  return `solving: ${phase}${best}${bound === undefined ? '' : `, bound ${bound.toPrecision(6)}`}`;
}

function errorOf(message: Extract<SolveMessage, { kind: 'refused' | 'failed' }>): Error {
  if (message.kind === 'refused') return new InputError(message.task, message.faults, message.advice);
  const error = new Error(message.message);
  error.stack = message.stack;
  return error;
}
