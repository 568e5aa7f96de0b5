import { JobPool, type JobPoolOptions } from '../jobs/index.js';
import type { SimulationJob, SimulationProgress, SimulationRun, SimulationSetup } from './run.js';

/**
 * SimulationPool runs simulations of one setup on threads, side by side; by default on as many as the machine has
 * cores, at most 16. The caller closes it.
 */
export class SimulationPool extends JobPool<SimulationJob, SimulationRun, SimulationProgress> {
  constructor(setup: SimulationSetup, options: Pick<JobPoolOptions, 'threads' | 'signal'> = {}) {
    super('#dist/src/simulation/worker.js', { ...options, what: 'simulation', data: setup });
  }
}
