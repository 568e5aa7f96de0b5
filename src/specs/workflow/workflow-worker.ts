/** The thread that plans workflows, and makes plans again, so that an abort is heard and progress is shown meanwhile. */
import { type JobContext, serveJobs } from '../../jobs/index.js';
import {
  type PlacedAgain,
  type PlacedJob,
  type PlannedJob,
  placedJob,
  plannedJob,
  type WorkflowPlanningJob,
} from './planning-job.js';

serveJobs<WorkflowPlanningJob | PlacedJob, PlannedJob | PlacedAgain, string>(
  (job, { interrupted, tell }: JobContext<undefined, string>) =>
    'placed' in job ? placedJob(job) : plannedJob(job, { interrupted, tell }),
);
