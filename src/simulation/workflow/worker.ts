/** The thread of workflows starts with a setup and does one run after another. */
import { serveJobs } from '../../jobs/index.js';
import type { SimulationProgress } from '../watched-arrivals.js';
import { type RanWorkflows, ranWorkflows, type WorkflowJob, type WorkflowSetup } from './workflow-run.js';

serveJobs<WorkflowJob, RanWorkflows, SimulationProgress, WorkflowSetup>((job, { data, tell, interrupted }) =>
  ranWorkflows(data, job, { interrupted, onProgress: tell }),
);
