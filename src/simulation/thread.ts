import { JobThread } from '../jobs/index.js';
import type { SimulationJob, SimulationProgress, SimulationRun, SimulationSetup } from './run.js';

/** SimulationThread runs one simulation after another of one setup. The caller closes it. */
export class SimulationThread extends JobThread<SimulationJob, SimulationRun, SimulationProgress> {
  /** @param signal when it is aborted, the current run and all later ones end with what they have */
  constructor(setup: SimulationSetup, signal?: AbortSignal) {
    super('#dist/src/simulation/worker.js', 'simulation', setup, signal);
  }
}
