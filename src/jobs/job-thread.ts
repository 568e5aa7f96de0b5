import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import { type Fault, InputError } from '../artifacts/index.js';

/** What a job thread tells: progress, then one answer. */
export type JobMessage<Answer, Progress> =
  | { readonly kind: 'progress'; readonly progress: Progress }
  | { readonly kind: 'answer'; readonly answer: Answer }
  | {
      readonly kind: 'refused';
      readonly task: string;
      readonly faults: readonly Fault[];
      readonly advice: string | undefined;
    }
  | { readonly kind: 'failed'; readonly error: FailedJob };

/** An error that crosses threads: what the system said of a call is kept. */
interface FailedJob {
  readonly message: string;
  readonly stack: string;
  readonly system: { code: string; syscall?: string; path?: string } | undefined;
}

/** What the thread is started with. */
export interface JobThreadData<Data> {
  /** Set to 1 to end what is running with what it has. */
  readonly interrupt: Int32Array;
  readonly data: Data;
}

/** A thread that does one job at a time; the caller closes it. The other end is `serveJobs`. */
export class JobThread<Job, Answer, Progress> {
  private readonly interrupt = new Int32Array(new SharedArrayBuffer(4));
  private readonly worker: Worker;
  private failed: Error | undefined;
  private onFailure: ((error: Error) => void) | undefined;

  /**
   * @param entry the built file that runs on it, `#dist/src/…`
   * @param data what it is started with
   * @param signal when aborted, the job that runs and all later ones end with what they have
   */
  constructor(
    entry: string,
    what: string,
    data: unknown,
    private readonly signal?: AbortSignal,
  ) {
    const workerData: JobThreadData<unknown> = { interrupt: this.interrupt, data };
    this.worker = new Worker(createRequire(import.meta.url).resolve(entry), { workerData });
    this.worker.once('error', (error) => this.fail(error as Error));
    this.worker.once('exit', () => this.fail(new Error(`the ${what} thread ended without an answer`)));
    if (signal?.aborted) this.onAbort();
    signal?.addEventListener('abort', this.onAbort, { once: true });
  }

  /**
   * Runs a job to its end.
   * @throws InputError where the job refuses what it was given
   */
  run(job: Job, onProgress?: (progress: Progress) => void): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        this.worker.off('message', onMessage);
        this.onFailure = undefined;
        settle();
      };
      const onMessage = (message: JobMessage<Answer, Progress>): void => {
        if (message.kind === 'progress') onProgress?.(message.progress);
        else if (message.kind === 'answer') end(() => resolve(message.answer));
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

function errorOf(message: Extract<JobMessage<never, never>, { kind: 'refused' | 'failed' }>): Error {
  if (message.kind === 'refused') return new InputError(message.task, message.faults, message.advice);
  const error = new Error(message.error.message);
  error.stack = message.error.stack;
  return Object.assign(error, message.error.system);
}
