import { doneShortly, JobPool, type JobPoolOptions } from '../jobs/index.js';
import { runSimulation, type SimulationJob, type SimulationRun, type SimulationSetup } from './run.js';
import type { SimulationProgress } from './watched-arrivals.js';
import { warmUpNs } from './workload.js';

/** A run of no more requests is likely to be over before a thread has started. */
const FEW_REQUESTS = 5000;

/**
 * SimulationPool runs simulations of one setup on threads, side by side; by default on as many as the machine has
 * cores, at most 16. The caller closes it.
 */
export class SimulationPool extends JobPool<SimulationJob, SimulationRun, SimulationProgress> {
  constructor(
    private readonly setup: SimulationSetup,
    private readonly given: Pick<JobPoolOptions, 'threads' | 'signal'> = {},
  ) {
    super('#dist/src/simulation/worker.js', { ...given, what: 'simulation', data: setup });
  }

  /**
   * runOne does one run, as `run` does, but in this thread where that takes no longer than to start another: where it has few
   * requests, and where it is interrupted before it begins, so that it ends after its first look. A busy machine may not start
   * a thread before an interrupted job is given up.
   */
  async runOne(
    job: SimulationJob,
    onProgress?: (progress: SimulationProgress) => void,
  ): Promise<SimulationRun> {
    const { setup, given } = this;
    const isShort = job.timeline === undefined && hasFewRequests(setup);
    const act = (interrupted: () => boolean) => runSimulation(setup, job, { interrupted });
    const run = isShort ? await doneShortly(act, given) : undefined;
    if (run !== undefined) return run;
    if (given.signal?.aborted) return runSimulation(setup, job, { interrupted: () => true });
    return this.run(job, onProgress);
  }
}

function hasFewRequests({ workload, verdicts, family }: SimulationSetup): boolean {
  if (workload.kind === 'trace' || verdicts !== undefined || family !== undefined) return false;
  const { rps, durationNs } = workload;
  const ns = durationNs + warmUpNs(workload);
  return (rps.reduce((sum, rate) => sum + rate, 0) * ns) / 1e9 <= FEW_REQUESTS;
}
