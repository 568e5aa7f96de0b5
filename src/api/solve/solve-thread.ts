import { JobThread } from '../../jobs/index.js';
import type { PlanProgress } from '../../milp/index.js';
import type { SolveAnswers, SolveJob } from './solve-worker.js';

/** A thread with a solver on it. It does one job at a time; the caller closes it. */
export class SolverThread {
  private readonly thread: JobThread<SolveJob, SolveAnswers[keyof SolveAnswers], PlanProgress>;

  /** @param signal when aborted, the job that runs and all later ones end with what they have */
  constructor(signal?: AbortSignal) {
    this.thread = new JobThread('#dist/src/api/solve/solve-worker.js', 'solver', undefined, signal);
  }

  /**
   * Runs a job to its end.
   * @throws InputError where the planner refuses what it was given
   */
  run<K extends SolveJob['kind']>(
    job: Extract<SolveJob, { kind: K }>,
    onProgress?: (progress: PlanProgress) => void,
  ): Promise<SolveAnswers[K]> {
    return this.thread.run(job, onProgress) as Promise<SolveAnswers[K]>;
  }

  close(): Promise<void> {
    return this.thread.close();
  }
}

/** What a search is at, for people. */
export function progressText({ phase, value, bound }: PlanProgress): string {
  const best = value === undefined ? '' : `, best ${value.toPrecision(6)}`;
  return `solving: ${phase}${best}${bound === undefined ? '' : `, bound ${bound.toPrecision(6)}`}`;
}
