/** The thread that plans pipelines, so that an abort is heard and progress is shown while the search runs. */
import { type PlannedOpen, planOpen } from '../../inferline/index.js';
import { type JobContext, serveJobs } from '../../jobs/index.js';
import { type PlanningJob, planningTools } from './planning-job.js';

const PROGRESS_MS = 200;

serveJobs<PlanningJob, PlannedOpen, number>((job, { interrupted, tell }: JobContext<undefined, number>) => {
  const endMs = performance.now() + 1e3 * (job.timeLimit ?? Number.POSITIVE_INFINITY);
  let nextMs = 0;
  return planOpen(job, planningTools(job), (estimates) => {
    const nowMs = performance.now();
    if (nowMs >= nextMs) {
      tell(estimates);
      nextMs = nowMs + PROGRESS_MS;
    }
    return interrupted() || nowMs >= endMs;
  });
});
