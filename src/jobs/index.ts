/**
 * Worker threads that do one job after another: the outer end (`JobThread`) and the inner end (`serveJobs`).
 *
 * In goes the file that runs on the thread and what it starts with, then jobs; out come progress and answers. An abort is
 * handed to the job that runs, which ends with what it has. What a job does is its caller's. Start with `job-thread.ts`.
 */

export { JobThread } from './job-thread.js';
export { type JobContext, serveJobs } from './serve-jobs.js';
