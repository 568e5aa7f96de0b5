import { JobPool, type JobPoolOptions, type NamedJob } from '../../jobs/index.js';
import type { PlanProgress } from '../../milp/index.js';
import type { PlannerThread } from '../side-by-side.js';
import type { SolveAnswers, SolveJob } from './solve-worker.js';

type Kind = SolveJob['kind'];
type JobOf<K extends Kind> = Extract<SolveJob, { kind: K }>;

/** The thread that solves pooled specs. */
export const SOLVER_THREAD: PlannerThread = {
  ...{ worker: '#dist/src/specs/pooled/solve-worker.js', what: 'solver' },
};

/** SolverPool runs solvers on threads, side by side. The caller closes it. */
export class SolverPool {
  private readonly pool: JobPool<SolveJob, SolveAnswers[Kind], PlanProgress>;

  constructor(options: Pick<JobPoolOptions, 'threads' | 'signal'> = {}) {
    this.pool = new JobPool(SOLVER_THREAD.worker, { ...options, what: SOLVER_THREAD.what });
  }

  /**
   * run does one job to its end. Where the pool's signal aborts, the search ends with what it has.
   * @throws InputError where the planner refuses its input
   */
  run<K extends Kind>(
    job: JobOf<K>,
    onProgress?: (progress: PlanProgress) => void,
  ): Promise<SolveAnswers[K]> {
    return this.pool.run(job, onProgress) as Promise<SolveAnswers[K]>;
  }

  /** runAll does many jobs of one kind; see `JobPool.runAll`. */
  runAll<K extends Kind>(
    jobs: Iterable<NamedJob<JobOf<K>>>,
    onAnswer?: (answer: SolveAnswers[K], index: number) => void,
  ): Promise<SolveAnswers[K][]> {
    const told = onAnswer as ((answer: SolveAnswers[Kind], index: number) => void) | undefined;
    return this.pool.runAll(jobs, told) as Promise<SolveAnswers[K][]>;
  }

  close(): Promise<void> {
    return this.pool.close();
  }
}
