import type { Worker } from 'node:worker_threads';
import { type Fault, InputError } from '../formats/index.js';
import { keepThread, takeThread } from './spare-threads.js';

/** JobMessage is a message of a job thread: progress, and in the end one answer. */
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

/** FailedJob is an error in a form that crosses threads. It keeps what the system reported of a failed call. */
interface FailedJob {
  readonly message: string;
  readonly stack: string;
  readonly system: { code: string; syscall?: string; path?: string } | undefined;
}

/**
 * ThreadMessage is a message to a job thread: the data of the pool that takes it, then one job after another, and that
 * the pool is closed.
 */
export type ThreadMessage<Job, Data> =
  | { readonly kind: 'begin'; readonly begin: JobThreadData<Data> }
  | { readonly kind: 'job'; readonly job: Job }
  | { readonly kind: 'end' };

/** JobThreadData is the data with which a thread begins to work for a pool. */
export interface JobThreadData<Data> {
  /** Set to 1 to make the running job end with what it has. All threads of a pool share it. */
  readonly interrupt: Int32Array;
  readonly data: Data;
}

/** JobThread is a thread that does one job at a time. A `JobPool` owns it; `serveJobs` is the other end. */
export class JobThread<Job, Answer, Progress> {
  private readonly worker: Worker;
  private failed: Error | undefined;
  /**
   * jobFailed says whether a job failed other than by a refusal, which may leave the state of the thread
   * broken.
   */
  private jobFailed = false;
  /** isEnded says whether `end` was called. */
  isEnded = false;
  private onFailure: ((error: Error) => void) | undefined;

  /**
   * @param entry the built file that runs on the thread, `#dist/src/…` or a path
   * @param what names the thread in a message, as in "the solver thread ended without an answer"
   */
  constructor(
    private readonly entry: string,
    private readonly what: string,
    begin: JobThreadData<unknown>,
  ) {
    this.worker = takeThread(entry).on('error', this.onError).on('exit', this.failAsEnded);
    this.send({ kind: 'begin', begin });
  }

  /**
   * run does one job to its end. The caller waits for it before the next.
   * @throws InputError where the job refuses its input; an Error with the message, stack and system code of what it
   *   threw otherwise, and where the thread ends
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
        else {
          this.jobFailed ||= message.kind === 'failed';
          end(() => reject(errorOf(message)));
        }
      };
      if (this.failed !== undefined) return reject(this.failed);
      this.worker.on('message', onMessage);
      this.onFailure = (error) => end(() => reject(error));
      this.send({ kind: 'job', job });
    });
  }

  /**
   * close hands the thread on to a later pool. A thread that has failed, has a failed job behind it or is at a job is
   * ended, and the job fails. Every later job fails too.
   */
  async close(): Promise<void> {
    if (this.failed !== undefined || this.jobFailed || this.onFailure !== undefined) {
      await this.worker.terminate();
      return;
    }
    this.worker.off('error', this.onError).off('exit', this.failAsEnded);
    this.send({ kind: 'end' });
    keepThread(this.entry, this.worker);
    this.failAsEnded();
  }

  /** end gives up the thread, whatever it does. Its job, and every later one, fails with the error. */
  end(error: Error): void {
    this.isEnded = true;
    this.fail(error);
    void this.worker.terminate();
  }

  private send(message: ThreadMessage<Job, unknown>): void {
    this.worker.postMessage(message);
  }

  private readonly failAsEnded = (): void =>
    this.fail(new Error(`the ${this.what} thread ended without an answer`));

  private readonly onError = (error: unknown): void => this.fail(error as Error);

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
