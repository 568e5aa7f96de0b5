/** The solver thread takes one job after another and keeps its HiGHS between them. */
import { serveJobs } from '../../jobs/index.js';
import { loadHighs } from '../../lp/index.js';
import type { PlanProgress } from '../../milp/index.js';
import { answerSolveJob, type SolveAnswers, type SolveJob } from './solve-job.js';

const engine = loadHighs();

serveJobs<SolveJob, SolveAnswers[keyof SolveAnswers], PlanProgress>(async (job, context) =>
  answerSolveJob(job, await engine, context),
);
