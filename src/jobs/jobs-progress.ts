import { performance } from 'node:perf_hooks';

/** JobsProgress is the progress of many jobs. */
export interface JobsProgress {
  readonly done: number;
  /** The number of jobs known so far. It grows where answers lead to further jobs. */
  readonly of: number;
  /** An estimate from the jobs that are done; undefined before the first. */
  readonly leftMs: number | undefined;
}

/**
 * jobsProgress gives a function that reports how many jobs are done, and estimates the time left from the mean time of
 * the jobs since `jobsProgress` was called. Without a listener it does nothing.
 */
export function jobsProgress(
  onProgress: ((progress: JobsProgress) => void) | undefined,
): (done: number, of: number) => void {
  const start = performance.now();
  return (done, of) => {
    const leftMs = done === 0 ? undefined : ((performance.now() - start) / done) * (of - done);
    onProgress?.({ done, of, leftMs });
  };
}
