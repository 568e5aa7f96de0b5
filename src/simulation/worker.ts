/** The simulation thread starts with a setup and does one run after another. */
import { serveJobs } from '../jobs/index.js';
import { runSimulation, type SimulationJob, type SimulationRun, type SimulationSetup } from './run.js';
import type { SimulationProgress } from './watched-arrivals.js';

serveJobs<SimulationJob, SimulationRun, SimulationProgress, SimulationSetup>(
  (job, { data, tell, interrupted }) => runSimulation(data, job, { interrupted, onProgress: tell }),
);
