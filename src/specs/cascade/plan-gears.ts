import { JobPool } from '../../jobs/index.js';
import type { LoadedCascade } from './cascade.js';
import type { GearJob, PlannedGears } from './cascade-worker.js';

/** GearPlanning is what is asked of a search, and how it is stopped and shown. */
interface GearPlanning {
  /** Adds what one device more would bring. */
  readonly explain?: boolean | undefined;
  /** Adds the accuracy that fewer and more devices and other latencies would give. */
  readonly frontier?: boolean | undefined;
  /** How many gears may be simulated for a plan, before the search ends with what it has. */
  readonly work?: number | undefined;
  /** The time in seconds after which the search ends. */
  readonly timeLimit?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((doing: string) => void) | undefined;
}

/** planGears plans a cascade on a thread of its own. */
export async function planGears(
  { spec, files, resolved }: LoadedCascade,
  { explain = false, frontier = false, work, timeLimit, signal, onProgress }: GearPlanning,
): Promise<PlannedGears> {
  const pool = new JobPool<GearJob, PlannedGears, string>('#dist/src/specs/cascade/cascade-worker.js', {
    what: 'planner',
    threads: 1,
    signal,
  });
  try {
    const job = { spec: spec.value, files, resolved, explain, frontier, work, timeLimit };
    return await pool.run(job, (doing) => onProgress?.(doing));
  } finally {
    await pool.close();
  }
}
