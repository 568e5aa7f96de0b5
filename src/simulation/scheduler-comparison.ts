import {
  type ComparedScheduler,
  emittedHead,
  type Fault,
  fault,
  type InputFile,
  option,
  type SchedulerComparison,
} from '../artifacts/index.js';
import { largestOf, smallestOf } from '../collections/index.js';
import { JobPool, type JobsProgress, jobsProgress, type NamedJob } from '../jobs/index.js';
import { CONFIDENCE, HISTOGRAM_RELATIVE_ERROR } from '../metrics/index.js';
import { applicationsOf } from '../plans/index.js';
import type { ChosenScheduler } from '../serving/index.js';
import { rowFigures } from './compared-figures.js';
import type { ComparedJob, ComparedRun } from './compared-run.js';
import type { ComparedSchedulers } from './compared-schedulers.js';
import { describedScheduler, describedVerdicts } from './document.js';
import { describedEngine, describedExecution } from './execution.js';
import { type SimulationSetup, simulatedTopology } from './run.js';
import type { SimulationSettings } from './setup.js';
import { describedWorkload, type Workload } from './workload.js';

/** ComparisonOptions says which schedulers are compared, over what. */
export interface ComparisonOptions extends Omit<SimulationSettings, 'scheduler' | 'preset'> {
  /** `all` that can serve the plan, or names between commas, as in `fifo,reactive`. */
  readonly schedulers: string;
  /** The number of runs of each, 1 to 1000, whose seeds follow one another; 1 by default. */
  readonly runs?: number | undefined;
  /** Adds figures by windows of this many seconds. */
  readonly windows?: number | undefined;
  /** The file that the comparison is written to. */
  readonly output?: string | undefined;
  /** The number of threads. By default there are as many as the machine has cores, at most 16. */
  readonly threads?: number | undefined;
  /** When it is aborted, the runs that are done for all are reported, and the others are given up at once. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: JobsProgress) => void;
}

/** Comparing is what a comparison runs. */
interface Comparing {
  readonly setup: SimulationSetup;
  readonly compared: ComparedSchedulers;
  /** The scheduler of the plan. */
  readonly planned: string;
  readonly inputs: InputFile[];
}

type RunOptions = Pick<ComparisonOptions, 'runs' | 'windows' | 'threads' | 'signal' | 'onProgress'>;

/** The most windows of all runs of all schedulers together; each is about 0.2 KB of memory. */
const MOST_WINDOWS = 400_000;

/** comparedWindowFaults refuses windows that are too many over all runs of all schedulers. */
export function comparedWindowFaults(
  { durationNs }: Workload,
  windowS: number | undefined,
  { runs, schedulers }: { readonly runs: number; readonly schedulers: number },
): Fault[] {
  if (windowS === undefined || !(windowS > 0)) return [];
  const windows = Math.ceil(durationNs / (windowS * 1e9)) * runs * schedulers;
  if (!(windows > MOST_WINDOWS)) return [];
  const said = `gives ${windows} windows over ${runs} runs of ${schedulers} schedulers; at most ${MOST_WINDOWS} are compared: take longer ones`;
  return [fault(said, option('windows'))];
}

/**
 * runComparison simulates a plan under all schedulers, on threads side by side, with the same seeds for each: requests then
 * arrive at the same instants, and models say the same of them. The document does not depend on the number of threads.
 * After an abort, runs that are not done are given up. Those seeds count, from the first on, that are done for every
 * scheduler; where the first is not, the rows are of those schedulers for which it is.
 */
export async function runComparison(
  comparing: Comparing,
  { runs = 1, windows, threads, signal, onProgress }: RunOptions,
): Promise<SchedulerComparison> {
  const { setup, compared } = comparing;
  const { schedulers } = compared;
  const of = runs * schedulers.length;
  const done: ComparedRun[] = [];
  const pool = new JobPool<ComparedJob, ComparedRun, never>('#dist/src/simulation/compared-worker.js', {
    ...{ what: 'comparison', data: setup, threads, signal },
  });
  const tell = jobsProgress(onProgress);
  let count = 0;
  tell(count, of);
  try {
    const windowNs = windows === undefined ? {} : { windowNs: Math.round(windows * 1e9) };
    const running = pool.runAll(jobsOf(setup.seed, { runs, schedulers, windowNs }), (run, i) => {
      if (!run.complete) return;
      done[i] = run;
      tell(++count, of);
    });
    await endOrAbort(running, signal);
  } finally {
    await pool.close();
  }
  const table = schedulers.map((_, s) =>
    Array.from({ length: runs }, (_, run) => done[run * schedulers.length + s]),
  );
  return document(comparing, table, windows);
}

/** jobsOf gives the runs seed by seed, so that after an abort most seeds are done for all schedulers or for none. */
function* jobsOf(
  seed: number,
  {
    runs,
    schedulers,
    windowNs,
  }: {
    readonly runs: number;
    readonly schedulers: readonly ChosenScheduler[];
    readonly windowNs: Pick<ComparedJob, 'windowNs'>;
  },
): Generator<NamedJob<ComparedJob>> {
  for (let run = 0; run < runs; run++)
    for (const scheduler of schedulers)
      yield {
        name: `the run of ${scheduler.name} with seed ${seed + run}`,
        job: { scheduler, seed: seed + run, ...windowNs },
      };
}

/** endOrAbort waits for the runs, but after an abort no longer. What they would say then does not count. */
export async function endOrAbort(running: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) {
    await running;
    return;
  }
  let onAbort = (): void => {};
  const aborted = new Promise<void>((resolve) => {
    onAbort = resolve;
    if (signal.aborted) resolve();
    signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    await Promise.race([running, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    // The pool is closed next, and runs that are given up fail by that.
    if (signal.aborted) running.catch(() => {});
  }
}

/** @param table the runs of each scheduler by seed; undefined where a run is not done */
function document(
  { setup, compared, planned, inputs }: Comparing,
  table: readonly (readonly (ComparedRun | undefined)[])[],
  windowS: number | undefined,
): SchedulerComparison {
  const { plan, transfers, execution, workload, seed, exact } = setup;
  const { schedulers, skipped, choices } = compared;
  const complete = table.every((runs) => runs.every((run) => run !== undefined));
  const runs = comparedRuns(table);
  const rows = schedulers.flatMap((scheduler, s) => rowOf(setup, scheduler, table[s]?.slice(0, runs) ?? []));
  const shown = new Set(rows.map(({ scheduler }) => scheduler));
  const left = schedulers.filter(({ name }) => !shown.has(name));
  return {
    ...emittedHead('scheduler-comparison', inputs),
    seed,
    runs,
    ...(runs > 1 ? { confidence: CONFIDENCE } : {}),
    complete,
    workload: describedWorkload(workload, applicationsOf(plan)),
    transfers,
    execution: describedExecution(execution),
    ...describedEngine(schedulers),
    ...describedVerdicts(setup),
    percentileError: exact ? 0 : HISTOGRAM_RELATIVE_ERROR,
    ...(plan.notes === undefined ? {} : { notes: plan.notes }),
    planned,
    ...(windowS === undefined ? {} : { windowS }),
    ...(choices.length === 0 ? {} : { choices: [...choices] }),
    ...(setup.priorities === undefined ? {} : { priorities: setup.priorities.map((one) => ({ ...one })) }),
    rows,
    skipped: [
      ...skipped,
      ...left.map(({ name }) => ({ scheduler: name, reason: 'the comparison was interrupted before it' })),
    ],
  };
}

/** comparedRuns counts the seeds from the first on that are done for every scheduler; 1 where only some have the first. */
function comparedRuns(table: readonly (readonly (ComparedRun | undefined)[])[]): number {
  const whole = table.map((runs) => {
    const missing = runs.indexOf(undefined);
    return missing === -1 ? runs.length : missing;
  });
  return Math.max(smallestOf(whole), Math.min(1, largestOf(whole)));
}

/** rowOf makes the row of a scheduler; none where its runs are not done. */
function rowOf(
  setup: SimulationSetup,
  scheduler: ChosenScheduler,
  runs: readonly (ComparedRun | undefined)[],
): ComparedScheduler[] {
  const done = runs.filter((run) => run !== undefined);
  if (done.length === 0) return [];
  const { name, policy, tuner } = describedScheduler(scheduler);
  return [
    {
      ...{ scheduler: name, policy },
      ...(tuner === undefined ? {} : { tuner }),
      ...rowFigures(
        done,
        placesOf({ ...setup, scheduler }),
        applicationsOf(setup.plan).map((one) => one.name),
      ),
    },
  ];
}

/** placesOf names the places where requests are dropped: the entry, then the pools. */
function placesOf(setup: SimulationSetup): string[] {
  const { models, pools } = simulatedTopology(setup);
  return [
    'entry',
    ...pools.map(
      ({ model, pipeline, partition, stage }) =>
        stage ?? `${models[model]?.name}/pipeline${pipeline}/partition${partition}`,
    ),
  ];
}
