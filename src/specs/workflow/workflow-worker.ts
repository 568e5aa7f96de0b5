/** The thread that plans workflows, so that an abort is heard and progress is shown while the search runs. */
import { type JobContext, serveJobs } from '../../jobs/index.js';
import { type PlannedJob, plannedJob, type WorkflowPlanningJob } from './planning-job.js';

serveJobs<WorkflowPlanningJob, PlannedJob, string>(
  (job, { interrupted, tell }: JobContext<undefined, string>) => plannedJob(job, { interrupted, tell }),
);
