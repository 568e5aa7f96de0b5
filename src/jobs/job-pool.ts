import { availableParallelism } from 'node:os';
import { faultAt, InputError } from '../formats/index.js';
import { JobThread } from './job-thread.js';

/** JobPoolOptions says how many threads a pool has, and what they start with. */
export interface JobPoolOptions {
  /** The name of a thread in messages, as in "the solver thread ended without an answer". */
  readonly what: string;
  /** The data that every thread starts with. */
  readonly data?: unknown;
  /** The most threads. By default there are as many as the machine has cores; there are never more than 16. */
  readonly threads?: number | undefined;
  /**
   * When it is aborted, running jobs end with what they have, and `runAll` starts no more. A job that has not ended `graceMs`
   * later is ended with its thread.
   */
  readonly signal?: AbortSignal | undefined;
  /** How long a job may take to end after an abort: half a second by default, as a command is to end within a second. */
  readonly graceMs?: number | undefined;
}

/** NamedJob is one of many jobs. Messages use its name when it fails. */
export interface NamedJob<Job> {
  readonly name: string;
  readonly job: Job;
}

/** How long a job may take to end with what it has. A thread that a busy machine has not started by then is ended too. */
const GRACE_MS = 500;

/** A thread holds a solver or a simulation of its own, which takes about 100 MB. */
const MOST_THREADS = 16;

/**
 * JobPool runs jobs side by side on worker threads that all run the same file. A thread starts with the first
 * job that finds no other one idle, and does one job after another until the caller closes the pool. Threads of a
 * closed pool wait two seconds for the next pool that runs the same file.
 */
export class JobPool<Job, Answer, Progress> {
  private readonly most: number;
  private readonly interrupt = new Int32Array(new SharedArrayBuffer(4));
  private readonly threads: JobThread<Job, Answer, Progress>[] = [];
  private readonly idle: JobThread<Job, Answer, Progress>[] = [];
  private isClosed = false;
  private readonly waiting: ((thread: JobThread<Job, Answer, Progress>) => void)[] = [];

  /** @param entry the built file that runs on every thread and calls `serveJobs`: `#dist/src/…` or a path */
  constructor(
    private readonly entry: string,
    private readonly options: JobPoolOptions,
  ) {
    const { threads = availableParallelism(), signal } = options;
    this.most = Math.min(MOST_THREADS, Math.max(1, Math.floor(threads)));
    if (signal?.aborted) this.onAbort();
    signal?.addEventListener('abort', this.onAbort, { once: true });
  }

  /**
   * run does one job to its end, as soon as a thread is idle. After an abort the job still runs, and ends with
   * what it has.
   * @throws the signal's reason where the job does not end soon enough after an abort; InputError where the job refuses its
   *   input; an Error with the message of what it threw otherwise, and where its thread ends
   */
  async run(job: Job, onProgress?: (progress: Progress) => void): Promise<Answer> {
    const thread = await this.idleThread();
    const endsIn = this.endingOnAbort(thread);
    try {
      return await thread.run(job, onProgress);
    } finally {
      endsIn();
      this.handOn(thread);
    }
  }

  /** endingOnAbort ends a thread that is still at its job too long after an abort. It gives what ends the watch. */
  private endingOnAbort(thread: JobThread<Job, Answer, Progress>): () => void {
    const { signal, graceMs = GRACE_MS } = this.options;
    if (signal === undefined) return () => {};
    let timer: NodeJS.Timeout | undefined;
    const watch = (): void => {
      timer = setTimeout(() => thread.end(signal.reason as Error), graceMs);
    };
    if (signal.aborted) watch();
    else signal.addEventListener('abort', watch, { once: true });
    return () => {
      signal.removeEventListener('abort', watch);
      clearTimeout(timer);
    };
  }

  /** handOn gives a thread to the job that waits longest. A thread that was ended makes way for a new one. */
  private handOn(thread: JobThread<Job, Answer, Progress>): void {
    if (thread.isEnded && !this.isClosed) {
      this.threads.splice(this.threads.indexOf(thread), 1);
      this.waiting.shift()?.(this.begun());
      return;
    }
    const next = this.waiting.shift();
    if (next === undefined) this.idle.push(thread);
    else next(thread);
  }

  /**
   * runAll does many jobs and gives their answers in the order of the jobs, whichever end first. Jobs are taken
   * from `jobs` only when a thread is idle, so that a generator can make each when its turn has come.
   * @param onAnswer is called with each answer when it is there, and with the place of its job
   * @returns fewer answers than there are jobs where an abort left the last ones unstarted, or ended one
   * @throws the error of the job that failed first, with the name of the job; no job is started after it, and those
   *   that run go on until `close`
   */
  async runAll(
    jobs: Iterable<NamedJob<Job>>,
    onAnswer?: (answer: Answer, index: number) => void,
  ): Promise<Answer[]> {
    const queue = jobs[Symbol.iterator]();
    const answers: Answer[] = [];
    let started = 0;
    let failed = false;
    const runSome = async (): Promise<void> => {
      while (!failed && this.options.signal?.aborted !== true) {
        const next = queue.next();
        if (next.done === true) return;
        const index = started++;
        const ended = this.run(next.value.job).then((value) => ({ value }));
        const answer = await ended.catch((error: Error) => {
          failed = true;
          if (this.options.signal?.aborted === true && error === this.options.signal.reason) return undefined;
          throw withName(error, next.value.name);
        });
        if (answer === undefined) return;
        answers[index] = answer.value;
        onAnswer?.(answer.value, index);
      }
    };
    await Promise.all(Array.from({ length: this.most }, runSome));
    const whole = answers.findIndex((_, i) => !(i in answers));
    return whole < 0 ? answers : answers.slice(0, whole);
  }

  /**
   * close gives up all threads. A job that is running or waits for a thread fails. A thread that is at a job, or whose
   * job has failed other than by a refusal, ends; the others wait two seconds for the next pool, without the data of
   * this one.
   */
  async close(): Promise<void> {
    this.isClosed = true;
    this.options.signal?.removeEventListener('abort', this.onAbort);
    await Promise.all(this.threads.map((thread) => thread.close()));
  }

  private async idleThread(): Promise<JobThread<Job, Answer, Progress>> {
    const idle = this.idle.pop();
    if (idle !== undefined) return idle;
    if (this.threads.length === this.most) return new Promise((resolve) => this.waiting.push(resolve));
    return this.begun();
  }

  private begun(): JobThread<Job, Answer, Progress> {
    const { interrupt, options } = this;
    const begin = { interrupt, data: options.data };
    const thread = new JobThread<Job, Answer, Progress>(this.entry, options.what, begin);
    this.threads.push(thread);
    return thread;
  }

  private readonly onAbort = (): void => {
    Atomics.store(this.interrupt, 0, 1);
  };
}

/** withName adds a job's name to what its error tells: to every fault of a refusal, or to the message. */
function withName(error: Error, name: string): Error {
  if (error instanceof InputError) {
    const faults = error.faults.map((one) => faultAt(one, one.path === '' ? name : `${name}, ${one.path}`));
    return new InputError(error.task, faults, error.advice);
  }
  error.message = `${name}: ${error.message}`;
  return error;
}
