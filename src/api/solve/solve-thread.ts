import { JobThread } from '../../jobs/index.js';
import type { PlanProgress } from '../../milp/index.js';
import type { SolveAnswers, SolveJob } from './solve-worker.js';

/** SolverThread is a thread with a solver. It does one job at a time, and the caller closes it. */
export class SolverThread {
  private readonly thread: JobThread<SolveJob, SolveAnswers[keyof SolveAnswers], PlanProgress>;

  /** @param signal when it is aborted, the running job and all later ones end with what they have */
  constructor(signal?: AbortSignal) {
    this.thread = new JobThread('#dist/src/api/solve/solve-worker.js', 'solver', undefined, signal);
  }

  /**
   * run does one job to its end.
   * @throws InputError where the planner refuses its input
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

/** progressText describes the progress of a search to a person. */
export function progressText({ phase, value, bound }: PlanProgress): string {
  const best = value === undefined ? '' : `, best ${value.toPrecision(6)}`;
  return `solving: ${phase}${best}${bound === undefined ? '' : `, bound ${bound.toPrecision(6)}`}`;
}
