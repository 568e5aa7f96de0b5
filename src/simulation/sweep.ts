import { emittedHead } from '../artifacts/index.js';
import { evenlySpaced, itemAt } from '../collections/index.js';
import type { ToldFaults } from '../formats/index.js';
import {
  fault,
  type InputFile,
  type LargestLoad,
  option,
  type SimulationSweep,
  type SweptPoint,
} from '../formats/index.js';
import { type JobsProgress, jobsProgress } from '../jobs/index.js';
import { applicationsOf, type StagePlan } from '../plans/index.js';
import { describedScheduler, describedVerdicts } from './document.js';
import { describedEngine, describedExecution } from './execution.js';
import type { SimulationRun, SimulationSetup } from './run.js';
import type { SimulationSettings } from './setup.js';
import { SimulationPool } from './simulation-pool.js';
import { spreadOf } from './workload.js';

/** SweepOptions says which loads are tried, and what they must reach. */
export interface SweepOptions extends Omit<SimulationSettings, 'load' | 'rps' | 'phases'> {
  /** The load factors: `load=0.05..1.0`, or `load=0.5..1.2:15` with the number of points. */
  readonly sweep: string;
  /** The attainment that the largest load must reach. The default is 0.99. */
  readonly target?: number;
  readonly output?: string | undefined;
  /** The number of threads. By default there are as many as the machine has cores, at most 16. */
  readonly threads?: number;
  /** When it is aborted, the points that are done are reported. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: JobsProgress) => void;
}

const SWEEP = /^load=(\d*\.?\d+)(?:\.\.(\d*\.?\d+))?(?::(\d+))?$/;
const USUAL_STEP = 0.05;
const MOST_POINTS = 200;
const MOST_LOAD = 100;
/** The largest load is found to 1/GRID. */
const GRID = 100;
const TARGET = 0.99;

/**
 * sweptLoads reads `load=0.05..1.0`, `load=0.5..1.2:15` or `load=0.8`. Points are evenly spaced, both ends
 * included, by default in steps of about 0.05. A load is above 0 and at most 100, and there are at most 200 points.
 * @param told where every fault is added
 * @returns the load factors, ascending; none after a fault
 */
export function sweptLoads(text: string, told: ToldFaults): number[] {
  const at = option('sweep', `"${text}"`);
  const match = SWEEP.exec(text.trim());
  if (match === null) {
    told.add(fault('is not a sweep: load=0.05..1.0, with :points if wanted', at));
    return [];
  }
  const from = Number(match[1]);
  const to = match[2] === undefined ? from : Number(match[2]);
  const usual = Math.max(2, Math.round((to - from) / USUAL_STEP) + 1);
  const points = match[3] === undefined ? (from === to ? 1 : usual) : Number(match[3]);
  const wrong: string[] = [];
  if (from <= 0) wrong.push('begins at 0; a load must be above 0');
  if (to < from) wrong.push(`runs from ${from} down to ${to}`);
  if (to > MOST_LOAD) wrong.push(`reaches ${to} times the planned rate; at most ${MOST_LOAD} are simulated`);
  const least = to > from ? 2 : 1;
  if (points < least || (to >= from && points > MOST_POINTS))
    wrong.push(`has ${points} points; ${least} to ${MOST_POINTS} are valid`);
  told.addAll(wrong.map((message) => fault(message, at)));
  if (wrong.length > 0) return [];
  return evenlySpaced(from, to, from === to ? 1 : points);
}

/**
 * runSweep simulates all loads on threads, then bisects in steps of 0.01 for the largest load at which the attainment
 * meets the target (by default 0.99), overall and for each model. The search goes on between the largest load that
 * meets it and the next one above that was tried. After an abort it gives the points that are done, as not complete.
 */
export async function runSweep(
  setup: SimulationSetup,
  loads: readonly number[],
  options: Pick<SweepOptions, 'target' | 'threads' | 'signal' | 'onProgress'> & {
    readonly inputs: InputFile[];
  },
): Promise<SimulationSweep> {
  const { target = TARGET, signal, inputs } = options;
  const runs = new Map<number, SimulationRun>();
  const pool = new SimulationPool(setup, { threads: options.threads, signal });
  const tell = jobsProgress(options.onProgress);
  try {
    for (
      let wanted = [...loads];
      wanted.length > 0 && !signal?.aborted;
      wanted = nextLoads(runs, target, setup)
    ) {
      await runLoads(pool, wanted, runs, tell);
    }
  } finally {
    await pool.close();
  }
  const complete =
    signal?.aborted !== true || (runs.size >= loads.length && nextLoads(runs, target, setup).length === 0);
  return document(setup, runs, target, complete, inputs);
}

/** runLoads runs the largest loads first, because they take longest. It adds the runs that came to their end. */
async function runLoads(
  pool: SimulationPool,
  wanted: readonly number[],
  runs: Map<number, SimulationRun>,
  tell: (done: number, of: number) => void,
): Promise<void> {
  const loads = [...wanted].sort((a, b) => b - a);
  const of = runs.size + loads.length;
  tell(runs.size, of);
  const jobs = loads.map((loadFactor) => ({ name: `load factor ${loadFactor}`, job: { loadFactor } }));
  await pool.runAll(jobs, (run, i) => {
    if (run.complete) runs.set(itemAt(loads, i), run);
    tell(runs.size, of);
  });
}

type AttainmentOf = (run: SimulationRun) => number | undefined;

/** criteria gives the attainments that are searched: overall, then of each model that had requests. */
function criteria(plan: StagePlan): AttainmentOf[] {
  const models = applicationsOf(plan).map(
    (_, m): AttainmentOf =>
      ({ figures }) =>
        figures.models[m]?.attainment,
  );
  return [({ figures }) => figures.overall.attainment, ...models];
}

/**
 * nextLoads gives, for each criterion, the load halfway between the largest that meets the target and the
 * next above.
 */
function nextLoads(
  runs: ReadonlyMap<number, SimulationRun>,
  target: number,
  setup: SimulationSetup,
): number[] {
  const next = new Set<number>();
  for (const attainment of criteria(setup.plan)) {
    const { reached, above } = bracket(runs, target, attainment);
    if (reached === undefined || above === undefined) continue;
    // The candidates are the whole hundredths strictly between the two.
    const low = Math.floor(reached * GRID + 1e-9) + 1;
    const high = Math.ceil(above * GRID - 1e-9) - 1;
    if (low <= high) next.add(Math.floor((low + high) / 2) / GRID);
  }
  return [...next];
}

interface Bracket {
  readonly reached: number | undefined;
  readonly above: number | undefined;
}

function bracket(
  runs: ReadonlyMap<number, SimulationRun>,
  target: number,
  attainment: AttainmentOf,
): Bracket {
  const loads = [...runs.keys()].sort((a, b) => a - b);
  const at = loads.findLastIndex((load) => (attainment(runs.get(load) as SimulationRun) ?? 0) >= target);
  return { reached: loads[at], above: at === -1 ? undefined : loads[at + 1] };
}

function largestOf(
  runs: ReadonlyMap<number, SimulationRun>,
  target: number,
  attainment: AttainmentOf,
): { largest?: LargestLoad } {
  const { reached, above } = bracket(runs, target, attainment);
  return reached === undefined ? {} : { largest: { loadFactor: reached, atLeast: above === undefined } };
}

function document(
  setup: SimulationSetup,
  runs: ReadonlyMap<number, SimulationRun>,
  target: number,
  complete: boolean,
  inputs: InputFile[],
): SimulationSweep {
  const { plan, transfers, scheduler, execution, workload, seed } = setup;
  const spread = spreadOf(workload);
  const [overall, ...models] = criteria(plan) as [AttainmentOf, ...AttainmentOf[]];
  return {
    ...emittedHead('simulation-sweep', inputs),
    seed,
    complete,
    workload: {
      arrivals: workload.kind === 'trace' ? 'trace' : workload.process,
      ...(workload.cv === undefined ? {} : { cv: workload.cv }),
      durationS: workload.durationNs / 1e9,
      ...(spread === undefined ? {} : { spread }),
    },
    scheduler: describedScheduler(scheduler),
    transfers,
    execution: describedExecution(execution),
    ...describedEngine([scheduler]),
    ...describedVerdicts(setup),
    target,
    ...(plan.notes === undefined ? {} : { notes: plan.notes }),
    points: [...runs.keys()]
      .sort((a, b) => a - b)
      .map((load) => pointOf(load, runs.get(load) as SimulationRun)),
    ...largestOf(runs, target, overall),
    models: applicationsOf(plan).map(({ name }, m) => ({
      name,
      ...largestOf(runs, target, itemAt(models, m)),
    })),
  };
}

function pointOf(loadFactor: number, { figures }: SimulationRun): SweptPoint {
  const { attainment, late, dropRate, invalidRate, offeredRps, goodputRps, latencyMs } = figures.overall;
  return {
    loadFactor,
    ...(attainment === undefined ? {} : { attainment }),
    late,
    ...(dropRate === undefined ? {} : { dropRate }),
    ...(invalidRate === undefined ? {} : { invalidRate }),
    offeredRps,
    goodputRps,
    ...(latencyMs === undefined ? {} : { p99Ms: latencyMs.p99 }),
    attainments: figures.models.map((model) => model.attainment ?? null),
  };
}
