import { doneShortly, JobPool, type JobPoolOptions, type NamedJob } from '../../jobs/index.js';
import type { PlanProgress, PooledOutcome, PooledProblem } from '../../milp/index.js';
import type { PlannerThread } from '../side-by-side.js';
import type { SolveAnswers, SolveJob } from './solve-job.js';

type Kind = SolveJob['kind'];
type JobOf<K extends Kind> = Extract<SolveJob, { kind: K }>;

/** The thread that solves pooled specs. */
export const SOLVER_THREAD: PlannerThread = {
  worker: '#dist/src/specs/pooled/solve-worker.js',
  what: 'solver',
};

/**
 * A search over no more figures is likely to be over before a thread has started: for each model, its blocks squared by
 * virtual sizes.
 */
const FEW_FIGURES = 400;

/** SolverPool runs solvers on threads, side by side. The caller closes it. */
export class SolverPool {
  private readonly pool: JobPool<SolveJob, SolveAnswers[Kind], PlanProgress>;

  constructor(private readonly options: Pick<JobPoolOptions, 'threads' | 'signal' | 'graceMs'> = {}) {
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

  /** plan searches for a plan, as `run` does, but in this thread where that is likely to take no longer than to start another. */
  async plan(job: JobOf<'plan'>, onProgress?: (progress: PlanProgress) => void): Promise<PooledOutcome> {
    return (await this.plannedHere(job)) ?? this.run(job, onProgress);
  }

  private async plannedHere(job: JobOf<'plan'>): Promise<PooledOutcome | undefined> {
    // The literal formulation looks at interruptions too seldom, and a limit of time counts from the start of its search.
    if (job.formulation === 'literal' || job.timeLimitMs !== undefined || !isSmall(job.problem))
      return undefined;
    // Longer searches have no need of these rooms in this thread.
    const [{ loadHighs }, { answerSolveJob }] = await Promise.all([
      import('../../lp/index.js'),
      import('./solve-job.js'),
    ]);
    const highs = await loadHighs();
    const act = (interrupted: () => boolean) =>
      answerSolveJob(job, highs, { interrupted, tell: () => {} }) as PooledOutcome;
    return doneShortly(act, this.options);
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

function isSmall({ models, cluster }: PooledProblem): boolean {
  const figures = models.map(({ profile: { blocks, layers = [] }, classes }) => {
    const sizes = classes.map((name) => cluster.devices[name]?.virtual?.length ?? 1);
    return Math.max(blocks.length, layers.length) ** 2 * sizes.reduce((sum, one) => sum + one, 0);
  });
  return figures.reduce((sum, one) => sum + one, 0) <= FEW_FIGURES;
}
