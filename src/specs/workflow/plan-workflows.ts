import { JobPool } from '../../jobs/index.js';
import { WORKFLOW_THREAD } from './kind.js';
import type { PlacedAgain, PlacedJob, PlannedJob, WorkflowPlanningJob } from './planning-job.js';
import type { LoadedWorkflows } from './workflow.js';

/** WorkflowPlanning says how a search is stopped and shown. */
interface WorkflowPlanning {
  /** The time in seconds after which the search ends. */
  readonly timeLimit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((doing: string) => void) | undefined;
}

/**
 * planOnThread plans workflows on a thread of its own.
 * @returns undefined where an abort ended the search before it had a plan
 */
export async function planOnThread(
  { resolved, trace }: Pick<LoadedWorkflows, 'resolved' | 'trace'>,
  { timeLimit, signal, onProgress }: WorkflowPlanning,
): Promise<PlannedJob | undefined> {
  const { worker, what } = WORKFLOW_THREAD;
  const pool = new JobPool<WorkflowPlanningJob, PlannedJob, string>(worker, { what, threads: 1, signal });
  try {
    return await pool.run({ resolved, trace, timeLimit }, (doing) => onProgress?.(doing));
  } catch (error) {
    if (signal?.aborted && error === signal.reason) return undefined;
    throw error;
  } finally {
    await pool.close();
  }
}

/** placeOnThread makes a plan again from what its devices hold, on a thread of its own. */
export async function placeOnThread(
  { resolved, trace }: Pick<LoadedWorkflows, 'resolved' | 'trace'>,
  { placed, serves }: Pick<PlacedJob, 'placed' | 'serves'>,
): Promise<PlacedAgain> {
  const { worker, what } = WORKFLOW_THREAD;
  const pool = new JobPool<PlacedJob, PlacedAgain, string>(worker, { what, threads: 1 });
  try {
    return await pool.run({ resolved, trace, placed, serves });
  } finally {
    await pool.close();
  }
}
