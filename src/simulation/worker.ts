/** The simulation thread starts with a setup and does one run after another. */
import { serveJobs } from '../jobs/index.js';
import {
  runSimulation,
  type SimulationJob,
  type SimulationProgress,
  type SimulationRun,
  type SimulationSetup,
} from './run.js';

serveJobs<SimulationJob, SimulationRun, SimulationProgress, SimulationSetup>(
  (job, { data, tell, interrupted }) => runSimulation(data, job, { interrupted, onProgress: tell }),
);
