import { emittedHead } from '../../artifacts/index.js';
import { itemAt } from '../../collections/index.js';
import type {
  ComparedApplication,
  ComparedFigure,
  ComparedScheduler,
  InputFile,
  SchedulerComparison,
} from '../../formats/index.js';
import { stageName } from '../../formats/index.js';
import type { JobsProgress } from '../../jobs/index.js';
import { CONFIDENCE, HISTOGRAM_RELATIVE_ERROR, meanOverRuns } from '../../metrics/index.js';
import { applicationsOf, workflowTopologyOf } from '../../plans/index.js';
import type { WorkflowScheduler } from '../../serving/index.js';
import { requestsOver } from '../compared-figures.js';
import { comparedRequests } from '../compared-run.js';
import { interruptedSchedulers, type RunTable, runSchedulers, seedsOfAll } from '../scheduler-runs.js';
import { describedWorkload } from '../workload.js';
import { WorkflowPool } from './workflow-pool.js';
import type { RanWorkflows, WorkflowSetup } from './workflow-run.js';
import type { ComparedWorkflowSchedulers } from './workflow-schedulers.js';

/** ComparingWorkflows is what a comparison of schedulers of workflows runs. */
interface ComparingWorkflows {
  readonly setup: WorkflowSetup;
  readonly compared: ComparedWorkflowSchedulers;
  readonly inputs: InputFile[];
}

/** ComparingOptions says how often each scheduler is simulated, and on what. */
interface ComparingOptions {
  readonly runs?: number | undefined;
  readonly threads?: number | undefined;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: JobsProgress) => void;
}

/**
 * runWorkflowComparison simulates a plan under all schedulers, on threads side by side, with the same seeds for each:
 * the same requests then arrive at the same instants, whatever the scheduler. After an abort those seeds count, from
 * the first on, that are done for every scheduler; where the first is not, the rows are of those schedulers for which
 * it is.
 */
export async function runWorkflowComparison(
  comparing: ComparingWorkflows,
  { runs = 1, threads, signal, onProgress }: ComparingOptions,
): Promise<SchedulerComparison> {
  const { setup, compared } = comparing;
  const { schedulers } = compared;
  const pool = new WorkflowPool(setup, {
    ...(threads === undefined ? {} : { threads }),
    ...(signal === undefined ? {} : { signal }),
  });
  const jobOf = (scheduler: WorkflowScheduler, seed: number) => ({
    name: `the run of ${scheduler} with seed ${seed}`,
    job: { scheduler, seed },
  });
  const table = await runSchedulers(
    pool,
    { schedulers, seed: setup.seed, runs, jobOf },
    { signal, onProgress },
  );
  return document(comparing, table);
}

function document(
  { setup, compared, inputs }: ComparingWorkflows,
  table: RunTable<RanWorkflows>,
): SchedulerComparison {
  const { plan, workload, seed, exact } = setup;
  const runs = seedsOfAll(table);
  const rows = compared.schedulers.flatMap((scheduler, s) =>
    rowOf(setup, scheduler, table[s]?.slice(0, runs) ?? []),
  );
  return {
    ...emittedHead('scheduler-comparison', inputs),
    seed,
    runs,
    ...(runs > 1 ? { confidence: CONFIDENCE } : {}),
    complete: table.every((ran) => !ran.includes(undefined)),
    workload: describedWorkload(workload, applicationsOf(plan)),
    transfers: 'links',
    execution: { slow: 1, jitter: 'none' },
    percentileError: exact ? 0 : HISTOGRAM_RELATIVE_ERROR,
    ...(plan.notes === undefined ? {} : { notes: plan.notes }),
    planned: plan.serving.scheduler,
    rows,
    skipped: [...compared.skipped, ...interruptedSchedulers(compared.schedulers, rows)],
  };
}

/** rowOf makes the row of a scheduler; none where its runs are not done. */
function rowOf(
  { plan, policies }: WorkflowSetup,
  scheduler: WorkflowScheduler,
  table: readonly (RanWorkflows | undefined)[],
): ComparedScheduler[] {
  const runs = table.filter((run) => run !== undefined);
  if (runs.length === 0) return [];
  const places = ['entry', ...workflowTopologyOf(plan).pools.map(({ stage }) => stageName(stage))];
  const requestsOf = ({ figures }: RanWorkflows) =>
    comparedRequests(figures.overall, figures.drops, places.length - 1);
  const guesses = runs.flatMap(({ guesses: one }) => (one === undefined ? [] : [one.right / one.made]));
  const schedules = runs.flatMap((run) => run.schedules ?? []);
  return [
    {
      scheduler,
      policy: { ...policies[scheduler] },
      ...requestsOver(runs.map(requestsOf), places),
      loads: counted(runs.map(({ figures }) => figures.loads)),
      evictions: counted(runs.map(({ figures }) => figures.evictions)),
      ...(guesses.length < runs.length ? {} : { rightGuesses: within(counted(guesses), 1) }),
      ...(schedules.length < runs.length ? {} : { schedules: counted(schedules) }),
      worstWindows: [],
      ...(plan.workflows.length === 1
        ? {}
        : { applications: plan.workflows.map(({ name }, w) => applicationOf(name, w, { runs, places })) }),
    },
  ];
}

/** applicationOf gives the figures of one workflow over runs. */
function applicationOf(
  name: string,
  workflow: number,
  { runs, places }: { readonly runs: readonly RanWorkflows[]; readonly places: readonly string[] },
): ComparedApplication {
  const requests = runs.map(({ figures }) =>
    comparedRequests(
      itemAt(figures.workflows, workflow),
      figures.drops.filter(({ model }) => model === workflow),
      places.length - 1,
    ),
  );
  return { name, ...requestsOver(requests, places) };
}

/** counted gives the mean of counts over runs, with its interval; of one run, all are its count. */
function counted(counts: readonly number[]): ComparedFigure {
  const [first = 0] = counts;
  if (counts.length === 1) return { mean: first, low: first, high: first };
  const { mean, low, high } = meanOverRuns(counts);
  return { mean, low: Math.max(0, low), high };
}

function within({ mean, low, high }: ComparedFigure, most: number): ComparedFigure {
  return { mean, low, high: Math.min(most, high) };
}
