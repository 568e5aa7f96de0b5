import { emittedHead } from '../artifacts/index.js';
import {
  type ComparedScheduler,
  type Fault,
  fault,
  type InputFile,
  option,
  type SchedulerComparison,
} from '../formats/index.js';
import { JobPool, type JobsProgress } from '../jobs/index.js';
import { CONFIDENCE, HISTOGRAM_RELATIVE_ERROR } from '../metrics/index.js';
import { applicationsOf } from '../plans/index.js';
import type { ChosenScheduler } from '../serving/index.js';
import { rowFigures } from './compared-figures.js';
import type { ComparedJob, ComparedRun } from './compared-run.js';
import type { ComparedSchedulers } from './compared-schedulers.js';
import { describedScheduler, describedVerdicts } from './document.js';
import { describedEngine, describedExecution } from './execution.js';
import { type SimulationSetup, simulatedTopology } from './run.js';
import { interruptedSchedulers, type RunTable, runSchedulers, seedsOfAll } from './scheduler-runs.js';
import type { SimulationSettings } from './setup.js';
import { describedWorkload, type Workload } from './workload.js';

/** ComparisonOptions says which schedulers are compared, over what. */
export interface ComparisonOptions extends Omit<SimulationSettings, 'scheduler' | 'preset'> {
  /** `all` that can serve the plan, or names between commas, as in `fifo,reactive`. */
  readonly schedulers: string;
  /** The number of runs of each, 1 to 1000, whose seeds follow one another; 1 by default. */
  readonly runs?: number | undefined;
  /** Adds figures by windows of a given number of seconds. */
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
 * runComparison simulates a plan under all schedulers, on threads side by side, with the same seeds for each:
 * requests then arrive at the same instants, and models say the same of them. The document does not depend on
 * the number of threads. After an abort, runs that are not done are given up. The leading seeds that are done
 * for every scheduler count; where the first seed is not done for all, the rows are those of the schedulers
 * for which it is.
 */
export async function runComparison(
  comparing: Comparing,
  { runs = 1, windows, threads, signal, onProgress }: RunOptions,
): Promise<SchedulerComparison> {
  const { setup, compared } = comparing;
  const { schedulers } = compared;
  const pool = new JobPool<ComparedJob, ComparedRun, never>('#dist/src/simulation/compared-worker.js', {
    what: 'comparison',
    data: setup,
    threads,
    signal,
  });
  const windowNs = windows === undefined ? {} : { windowNs: Math.round(windows * 1e9) };
  const jobOf = (scheduler: ChosenScheduler, seed: number) => ({
    name: `the run of ${scheduler.name} with seed ${seed}`,
    job: { scheduler, seed, ...windowNs },
  });
  const table = await runSchedulers(
    pool,
    { schedulers, seed: setup.seed, runs, jobOf },
    { signal, onProgress },
  );
  return document(comparing, table, windows);
}

function document(
  { setup, compared, planned, inputs }: Comparing,
  table: RunTable<ComparedRun>,
  windowS: number | undefined,
): SchedulerComparison {
  const { plan, transfers, execution, workload, seed, exact } = setup;
  const { schedulers, skipped, choices } = compared;
  const complete = table.every((runs) => runs.every((run) => run !== undefined));
  const runs = seedsOfAll(table);
  const rows = schedulers.flatMap((scheduler, s) => rowOf(setup, scheduler, table[s]?.slice(0, runs) ?? []));
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
      ...interruptedSchedulers(
        schedulers.map(({ name }) => name),
        rows,
      ),
    ],
  };
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
      scheduler: name,
      policy,
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
