/** The thread of a comparison starts with a setup and does one run after another, each under its own scheduler. */
import { serveJobs } from '../jobs/index.js';
import { type ComparedJob, type ComparedRun, comparedRun } from './compared-run.js';
import type { SimulationSetup } from './run.js';

serveJobs<ComparedJob, ComparedRun, never, SimulationSetup>((job, { data, interrupted }) =>
  comparedRun(data, job, { interrupted }),
);
