import { performance } from 'node:perf_hooks';
import { checkedOutcome, promiseFaults } from '../../checks/index.js';
import { itemAt, smallestOf } from '../../collections/index.js';
import { fault, InputError, ToldFaults } from '../../formats/index.js';
import {
  type HoldOutcome,
  type HoldTarget,
  heldProblem,
  PROMISE_SEEDS,
  searchHeld,
} from '../../hold/index.js';
import { JobPool } from '../../jobs/index.js';
import type { PooledOutcome, SearchLimit } from '../../milp/index.js';
import { plannedScheduler } from '../../plans/index.js';
import type { NotHeld } from '../not-held.js';
import type { SearchLimits } from '../solve-limits.js';
import { threadsNowMs } from '../threads-clock.js';
import { type HoldDone, HoldReport } from './hold-report.js';
import { HoldTime, holdTools, MOST_SIMULATED_REQUESTS } from './hold-tools.js';
import type { HoldJob, HoldLoad, HoldRun } from './hold-worker.js';
import type { LoadedProblem } from './pooled.js';
import type { SolverPool } from './solver-pool.js';

const WORK_DONE = `the search for what plans hold ended with the ${MOST_SIMULATED_REQUESTS} requests for each model that it simulates at most: others may hold more`;

/** How many runs confirm what a plan holds. */
export const PROMISE_RUNS = PROMISE_SEEDS.length;

/** HoldOptions says how a search for the plan that holds most is run. */
export interface HoldOptions extends SearchLimits {
  readonly target: HoldTarget;
  readonly threads?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((done: HoldDone) => void) | undefined;
}

/** HeldOutcome is a planner's outcome, and what was tried where no plan holds the rates. */
export interface HeldOutcome {
  readonly outcome: PooledOutcome;
  readonly notHeld?: NotHeld;
}

/**
 * holdPlan searches the plan that holds its promise (`searchHeld`), with solvers and simulations on threads.
 * After an abort, or at the limit of the time or of the requests that it simulates (`MOST_SIMULATED_REQUESTS`), it gives the
 * best plan whose promise is confirmed. The limits leave a part of themselves for that, and an abort nothing.
 * @throws InputError where a share is so near 1 that no runs could confirm it
 */
export async function holdPlan(
  solver: SolverPool,
  loaded: Pick<LoadedProblem, 'problem' | 'serving'>,
  options: HoldOptions,
): Promise<HeldOutcome> {
  const start = performance.now();
  const time = new HoldTime(
    options.timeLimitMs,
    threadsNowMs,
    MOST_SIMULATED_REQUESTS * loaded.problem.models.length,
  );
  const found = await search(solver, loaded, options, time);
  const timed = (outcome: PooledOutcome): PooledOutcome => ({
    ...outcome,
    solver: { ...outcome.solver, ms: performance.now() - start, phases: {} },
  });
  if (found.status === 'unconfirmable') throw unconfirmable(options.target, found.most);
  if (found.status === 'no-plan') return { outcome: timed(found.outcome) };
  const ended = options.signal?.aborted ? 'interrupted' : time.isWorkDone ? 'work' : 'time';
  const none = (limit?: SearchLimit): PooledOutcome => {
    const nothing = { ms: 0, phases: {}, columns: 0, rounds: 0, nodes: 0 };
    const reached = limit === undefined ? {} : { limit };
    return timed({ status: 'no-plan-in-time', ...reached, solver: nothing });
  };
  if (found.status === 'unfinished') return { outcome: none(ended) };
  if (found.status === 'not-held') {
    const { trials, heldShare, heldRps, judgedBy } = found;
    const { attainment } = options.target;
    const models = loaded.problem.models.map(({ name, rps }, m) => ({
      name,
      ...(rps === undefined ? {} : { rps }),
      heldRps: heldRps[m] ?? 0,
      attainment: itemAt(attainment, m),
    }));
    return {
      outcome: none(found.isCut ? ended : undefined),
      notHeld: { trials, heldShare, judgedBy, models },
    };
  }
  const { plan, outcome, isCut } = found;
  const limit = isCut ? ended : outcome.limit;
  const notes = isCut && ended === 'work' ? [...outcome.notes, WORK_DONE] : outcome.notes;
  const written: PooledOutcome = {
    ...outcome,
    notes,
    status: plan.status,
    plan: isCut ? { ...plan, reproducible: false } : plan,
    ...(limit === undefined ? {} : { limit }),
  };
  // Margins and headroom were checked with the plan; what is written answers the spec's own weights and rates.
  const problem = heldProblem(loaded.problem, plan);
  return { outcome: timed(checkedOutcome(written, problem, promiseFaults(plan))) };
}

/** unconfirmable names the largest shares that can be asked for, rounded down. */
function unconfirmable({ attainment }: HoldTarget, most: readonly number[]): InputError {
  const faults = attainment.flatMap((share, m) => {
    const largest = itemAt(most, m);
    if (share <= largest) return [];
    const said = `${share} is too near 1: with no request late, the runs that confirm a promise are sure of ${writtenBelow(largest)}; ask for no more than that`;
    return [fault(said, `/models/${m}/hold`)];
  });
  return new InputError('find a plan that holds its rates', faults);
}

/** writtenBelow writes a share below 1, rounded down to two digits of what it lacks. */
function writtenBelow(share: number): string {
  const digits = 1 - Math.floor(Math.log10(1 - share));
  return (Math.floor(share * 10 ** digits) / 10 ** digits).toFixed(digits);
}

/** promisePool makes the threads that simulate plans of a problem, by the scheduler of its spec, under the arrivals of a target. */
export async function promisePool(
  { problem, serving }: Pick<LoadedProblem, 'problem' | 'serving'>,
  { arrivals, cv }: Pick<HoldTarget, 'arrivals' | 'cv'>,
  { threads, signal }: Pick<HoldOptions, 'threads' | 'signal'> = {},
): Promise<JobPool<HoldJob, HoldRun, never>> {
  const leastSloNs = smallestOf(problem.models.map(({ sloUs }) => 1e3 * sloUs));
  const scheduler = plannedScheduler(serving, { options: {}, leastSloNs }, new ToldFaults());
  if (scheduler === undefined) throw new Error(`the scheduler ${serving.scheduler} was not checked`);
  const data: HoldLoad = { scheduler, arrivals, cv };
  return new JobPool('#dist/src/specs/pooled/hold-worker.js', { what: 'simulation', threads, data, signal });
}

async function search(
  solver: SolverPool,
  { problem, serving }: Pick<LoadedProblem, 'problem' | 'serving'>,
  { target, threads, signal, onProgress, timeLimitMs: _, ...limits }: HoldOptions,
  time: HoldTime,
): Promise<HoldOutcome> {
  const { attainment } = target;
  const pool = await promisePool({ problem, serving }, target, { threads, signal });
  const report = new HoldReport(onProgress);
  const simulate = async (job: HoldJob) => {
    const run = await pool.run(job);
    report.simulated(job.rps);
    return run;
  };
  try {
    const tools = await holdTools({ solver, simulate, attainment, limits, time, signal });
    report.began({ phase: 'trying', done: 0, of: target.mostTrials });
    return await searchHeld(problem, target, { ...tools, onProgress: (progress) => report.began(progress) });
  } finally {
    await pool.close();
  }
}
