import { largestOf, smallestOf } from '../collections/index.js';
import { type JobsProgress, jobsProgress, type NamedJob } from '../jobs/index.js';

/** SchedulerRuns is what a comparison runs: each scheduler with the same seeds, which follow one another. */
export interface SchedulerRuns<Scheduler, Job> {
  readonly schedulers: readonly Scheduler[];
  readonly seed: number;
  readonly runs: number;
  readonly jobOf: (scheduler: Scheduler, seed: number) => NamedJob<Job>;
}

/** RunsJobs is a pool of threads that runs jobs: a JobPool of `jobs`, whatever its progress is. */
export interface RunsJobs<Job, Run> {
  runAll(jobs: Iterable<NamedJob<Job>>, onDone: (run: Run, job: number) => void): Promise<unknown>;
  close(): Promise<void>;
}

/** RunTable has the runs of each scheduler by seed; undefined where a run is not done. */
export type RunTable<Run> = readonly (readonly (Run | undefined)[])[];

/**
 * runSchedulers runs every scheduler with every seed, seed by seed, so that after an abort most seeds are done for all
 * schedulers or for none. It closes the pool.
 */
export async function runSchedulers<Scheduler, Job, Run extends { readonly complete: boolean }>(
  pool: RunsJobs<Job, Run>,
  { schedulers, seed, runs, jobOf }: SchedulerRuns<Scheduler, Job>,
  {
    signal,
    onProgress,
  }: {
    readonly signal?: AbortSignal | undefined;
    readonly onProgress?: ((progress: JobsProgress) => void) | undefined;
  },
): Promise<RunTable<Run>> {
  const done: Run[] = [];
  const tell = jobsProgress(onProgress);
  const of = runs * schedulers.length;
  let count = 0;
  tell(count, of);
  const jobs = Array.from({ length: runs }, (_, run) =>
    schedulers.map((one) => jobOf(one, seed + run)),
  ).flat();
  try {
    const running = pool.runAll(jobs, (run, i) => {
      if (!run.complete) return;
      done[i] = run;
      tell(++count, of);
    });
    await endOrAbort(running, signal);
  } finally {
    await pool.close();
  }
  return schedulers.map((_, s) =>
    Array.from({ length: runs }, (__, run) => done[run * schedulers.length + s]),
  );
}

/** seedsOfAll counts the seeds from the first on that are done for every scheduler; 1 where only some have the first. */
export function seedsOfAll(table: RunTable<unknown>): number {
  const whole = table.map((runs) => {
    const missing = runs.indexOf(undefined);
    return missing === -1 ? runs.length : missing;
  });
  return Math.max(smallestOf(whole), Math.min(1, largestOf(whole)));
}

/** interruptedSchedulers lists those of which no run was done, as reports have them. */
export function interruptedSchedulers(
  names: readonly string[],
  rows: readonly { readonly scheduler: string }[],
): { scheduler: string; reason: string }[] {
  const shown = new Set(rows.map(({ scheduler }) => scheduler));
  return names
    .filter((name) => !shown.has(name))
    .map((scheduler) => ({ scheduler, reason: 'the comparison was interrupted before it' }));
}

/**
 * endOrAbort waits for the runs, but after an abort no longer. The results that runs give after an abort do
 * not count.
 */
async function endOrAbort(running: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) {
    await running;
    return;
  }
  let onAbort = (): void => {};
  const aborted = new Promise<void>((resolve) => {
    onAbort = resolve;
    if (signal.aborted) resolve();
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    await Promise.race([running, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    // The pool is closed next, and runs that are given up fail by that.
    if (signal.aborted) running.catch(() => {});
  }
}
