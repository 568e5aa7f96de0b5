import { JobPool, jobsProgress, type NamedJob } from '../jobs/index.js';
import type { CompareOptions } from './compare-options.js';

/** SideBySide says how the jobs of a comparison run. */
export interface SideBySide<Answer> extends Pick<CompareOptions, 'threads' | 'signal' | 'onProgress'> {
  /** The built file that runs on every thread. */
  readonly worker: string;
  /** Whether an answer holds although an abort may have cut its search short. */
  readonly isWhole: (answer: Answer) => boolean;
}

/**
 * sideBySide plans cases on threads, and gives their answers in the order of the cases. A case that is refused has no
 * job, and no answer; nor has one that an abort cut short or left unstarted.
 */
export async function sideBySide<Job, Answer>(
  jobs: readonly (NamedJob<Job> | undefined)[],
  { worker, isWhole, threads, signal, onProgress }: SideBySide<Answer>,
): Promise<(Answer | undefined)[]> {
  const answers = new Array<Answer | undefined>(jobs.length).fill(undefined);
  const asked = jobs.flatMap((named, i) => (named === undefined ? [] : [{ i, named }]));
  const tell = jobsProgress(onProgress);
  let done = jobs.length - asked.length;
  tell(done, jobs.length);
  const pool = new JobPool<Job, Answer, unknown>(worker, { what: 'planner', threads, signal });
  try {
    await pool.runAll(
      asked.map(({ named }) => named),
      (answer, j) => {
        const { i } = asked[j] as (typeof asked)[number];
        if (isWhole(answer) || signal?.aborted !== true) answers[i] = answer;
        tell(++done, jobs.length);
      },
    );
  } finally {
    await pool.close();
  }
  return answers;
}
