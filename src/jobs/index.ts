/**
 * This room runs jobs on worker threads, side by side. It holds both ends: `JobPool` outside the threads and
 * `serveJobs` inside.
 *
 * It takes the file that runs on every thread, the data that a thread starts with, and then jobs. It gives
 * progress, and answers in the order of the jobs. An abort is passed on to the running jobs, which end with
 * what they have. A job that fails is reported with its name. `doneShortly` is for jobs that are over before a
 * thread has started. The caller says what a job does. Start reading at `job-pool.ts`; `job-thread.ts` is one
 * of its threads.
 */

export { JobPool, type JobPoolOptions, type NamedJob } from './job-pool.js';
export { type JobsProgress, jobsProgress } from './jobs-progress.js';
export { type JobContext, serveJobs } from './serve-jobs.js';
export { doneShortly } from './short-work.js';
