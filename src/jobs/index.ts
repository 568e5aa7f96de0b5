/**
 * This room runs worker threads that do one job after another. It holds both ends: `JobThread` outside the
 * thread and `serveJobs` inside.
 *
 * It takes the file that runs on the thread, the data that the thread starts with, and then jobs. It gives
 * progress and answers. An abort is passed on to the running job, which ends with what it has. What a job
 * does is up to the caller. Start reading at `job-thread.ts`.
 */

export { JobThread } from './job-thread.js';
export { type JobContext, serveJobs } from './serve-jobs.js';
