import { doneShortly, JobPool, type JobPoolOptions } from '../../jobs/index.js';
import { applicationsOf } from '../../plans/index.js';
import type { SimulationProgress } from '../watched-arrivals.js';
import { expectedRequests } from '../workload.js';
import { type RanWorkflows, ranWorkflows, type WorkflowJob, type WorkflowSetup } from './workflow-run.js';

/** A run of no more requests is likely to be over before a thread has started. */
const FEW_REQUESTS = 200;

/**
 * WorkflowPool runs simulations of workflows on threads, side by side; by default on as many as the machine has cores,
 * at most 16. The caller closes it.
 */
export class WorkflowPool extends JobPool<WorkflowJob, RanWorkflows, SimulationProgress> {
  constructor(
    private readonly setup: WorkflowSetup,
    private readonly given: Pick<JobPoolOptions, 'threads' | 'signal'> = {},
  ) {
    super('#dist/src/simulation/workflow/worker.js', { ...given, what: 'simulation', data: setup });
  }

  /** runOne does one run, as `run` does, but in this thread where that takes no longer than to start another (`SimulationPool`). */
  async runOne(job: WorkflowJob, onProgress?: (progress: SimulationProgress) => void): Promise<RanWorkflows> {
    const { setup, given } = this;
    const act = (interrupted: () => boolean) => ranWorkflows(setup, job, { interrupted });
    const isShort = expectedRequests(setup.workload, applicationsOf(setup.plan)) <= FEW_REQUESTS;
    const run = isShort ? await doneShortly(act, given) : undefined;
    if (run !== undefined) return run;
    if (given.signal?.aborted) return act(() => true);
    return this.run(job, onProgress);
  }
}
