import { parentPort } from 'node:worker_threads';
import { InputError } from '../formats/index.js';
import type { JobMessage, ThreadMessage } from './job-thread.js';

/** JobContext holds the arguments of a job besides its input. */
export interface JobContext<Data, Progress> {
  readonly data: Data;
  readonly tell: (progress: Progress) => void;
  /** interrupted says whether the job should end with what it has. */
  readonly interrupted: () => boolean;
}

/**
 * serveJobs is the inner end of a JobThread. It takes one job after another, answers each, and passes on the
 * errors they throw. A thread may work for several pools in turn: each begins with its own `data`, which is
 * dropped when the pool is closed.
 * @param answer does one job, in the thread
 */
export function serveJobs<Job, Answer, Progress, Data = undefined>(
  answer: (job: Job, context: JobContext<Data, Progress>) => Answer | Promise<Answer>,
): void {
  const tell = (message: JobMessage<Answer, Progress>): void => parentPort?.postMessage(message);
  let context: JobContext<Data, Progress> | undefined;
  parentPort?.on('message', async (message: ThreadMessage<Job, Data>) => {
    if (message.kind === 'begin') {
      const { interrupt, data } = message.begin;
      context = {
        data,
        tell: (progress) => tell({ kind: 'progress', progress }),
        interrupted: () => Atomics.load(interrupt, 0) === 1,
      };
      return;
    }
    if (message.kind === 'end') {
      context = undefined;
      return;
    }
    try {
      if (context === undefined) throw new Error('a job came to a thread that works for no pool');
      tell({ kind: 'answer', answer: await answer(message.job, context) });
    } catch (error) {
      tell(messageOf(error));
    }
  });
}

function messageOf(error: unknown): JobMessage<never, never> {
  if (error instanceof InputError) {
    const { task, faults, advice } = error;
    return { kind: 'refused', task, faults, advice };
  }
  const { message, stack = '', code, syscall, path } = error as NodeJS.ErrnoException;
  const system =
    code === undefined
      ? undefined
      : { code, ...(syscall === undefined ? {} : { syscall }), ...(path === undefined ? {} : { path }) };
  return { kind: 'failed', error: { message, stack, system } };
}
