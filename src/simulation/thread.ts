import { JobThread } from '../jobs/index.js';
import type { SimulationJob, SimulationProgress, SimulationRun, SimulationSetup } from './run.js';

/** A thread that runs one simulation after another of one setup; the caller closes it. */
export class SimulationThread extends JobThread<SimulationJob, SimulationRun, SimulationProgress> {
  /** @param signal when aborted, the run that is on and all later ones end with what they have */
  constructor(setup: SimulationSetup, signal?: AbortSignal) {
    super('#dist/src/simulation/worker.js', 'simulation', setup, signal);
  }
}
