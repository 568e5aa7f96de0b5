import { itemAt } from '../collections/index.js';
import { JobPool, jobsProgress, type NamedJob } from '../jobs/index.js';
import type { CompareOptions } from './compare-options.js';

/** RefusedCase is a case that has no plan, as its input is refused. */
export interface RefusedCase {
  readonly refused: readonly string[];
}

/** PlannerThread names a kind of thread. */
export interface PlannerThread {
  /** The built file that runs on it. */
  readonly worker: string;
  /** Its name in messages. */
  readonly what: string;
}

/** SideBySide says how the jobs of a comparison run. */
export interface SideBySide<Job, Answer> extends Pick<CompareOptions, 'threads' | 'signal' | 'onProgress'> {
  readonly thread: PlannerThread;
  /** jobOf makes the job of a case, when a thread is about to take it. */
  readonly jobOf: (i: number) => NamedJob<Job> | RefusedCase;
  /** isWhole says whether an answer holds although an abort may have cut its search short. */
  readonly isWhole: (answer: Answer) => boolean;
}

/**
 * sideBySide plans cases on threads, and gives their answers in the order of the cases. A case that an abort cut short or
 * left unstarted has no answer.
 */
export async function sideBySide<Job, Answer>(
  count: number,
  { thread: { worker, what }, jobOf, isWhole, threads, signal, onProgress }: SideBySide<Job, Answer>,
): Promise<(Answer | RefusedCase | undefined)[]> {
  const answers = new Array<Answer | RefusedCase | undefined>(count).fill(undefined);
  const tell = jobsProgress(onProgress);
  let done = 0;
  const keep = (i: number, answer: Answer | RefusedCase | undefined): void => {
    answers[i] = answer;
    tell(++done, count);
  };
  /** The case of each job: a case that is refused has none. */
  const caseOfJob: number[] = [];
  function* jobs(): Generator<NamedJob<Job>> {
    for (let i = 0; i < count; i++) {
      const named = jobOf(i);
      if ('refused' in named) {
        keep(i, named);
        continue;
      }
      caseOfJob.push(i);
      yield named;
    }
  }
  tell(done, count);
  const pool = new JobPool<Job, Answer, unknown>(worker, { what, threads, signal });
  try {
    await pool.runAll(jobs(), (answer, j) => {
      keep(itemAt(caseOfJob, j), isWhole(answer) || signal?.aborted !== true ? answer : undefined);
    });
  } finally {
    await pool.close();
  }
  return answers;
}
