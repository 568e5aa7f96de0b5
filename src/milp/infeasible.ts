import { smallestOf } from '../collections/index.js';
import { toldUpBelow } from '../formats/index.js';
import type { MasterResult } from './master/index.js';
import type {
  InfeasibilityCause,
  PooledOutcome,
  PooledProblem,
  ProblemModel,
  SolverReport,
} from './problem.js';
import { sloLeaving } from './slo.js';
import {
  type ClassTable,
  fitsMemory,
  type ModelTable,
  type ProblemTables,
  type Slot,
  type SpanLatencies,
  slowerLink,
  spanUs,
  transferUs,
} from './tables/index.js';

/**
 * infeasibility says in sentences, and as codes with their figures, why there is no plan. Models whose weights or
 * fastest pipeline rule a plan out get reasons of their own, and for a short SLO also one per class that holds the
 * whole model. If there is no such model, one reason says that the GPUs are too few; with `reach`, the LP's bound, it
 * gives the share of the rates that can be served. `smallestFeasibleSloMs` has an entry per model, that of its fastest
 * pipeline with one batch size; it is undefined where the weights fit nowhere or no batch can fill. It is a lower
 * bound: memory is checked only in sum over the partitions.
 */
export function infeasibility(
  problem: PooledProblem,
  { classes, tables }: ProblemTables,
  { reach, solver }: { readonly reach?: MasterResult | undefined; readonly solver: SolverReport },
): PooledOutcome {
  const fastest = tables.map((table) => fastestRun(table, problem.planner.maxPartitions));
  const smallest = tables.map((_, m) => smallestSloMs(problem, m, fastest[m]));
  const reasons = tables.flatMap((table, m) => {
    const model = problem.models[m] as ProblemModel;
    const { name } = model;
    const run = fastest[m];
    if (run === undefined)
      return [
        told(
          { code: 'weights-exceed-memory', model: name },
          'fits on no device: its weights exceed their memory',
        ),
      ];
    if (run.us <= run.budgetUs) return [];
    if (run.budgetUs === -Infinity)
      return [
        told(
          { code: 'no-batch-fills', model: name },
          'fills no batch: without partitioning it serves nothing, and batch 1 was not measured',
        ),
      ];
    return [tooShort(model, run), ...perClass(name, table, classes)];
  });
  if (reasons.length === 0) reasons.push(tooFewGpus(problem, classes, reach));
  const [texts, causes] = [reasons.map(({ text }) => text), reasons.map(({ cause }) => cause)];
  return { status: 'infeasible', reasons: texts, causes, smallestFeasibleSloMs: smallest, solver };
}

/** Reason is one reason in both forms. */
interface Reason {
  readonly cause: InfeasibilityCause;
  readonly text: string;
}

/** told makes a reason about a model: `says` goes on after the model's name. */
function told(cause: Extract<InfeasibilityCause, { model: string }>, says: string): Reason {
  return { cause, text: `${cause.model} ${says}` };
}

function tooShort({ name, spec: { sloMs } }: ProblemModel, { us, budgetUs }: Run): Reason {
  return told(
    { code: 'slo-too-short', model: name, sloMs, leftMs: budgetUs / 1000, latencyMs: us / 1000 },
    `has ${ms(budgetUs)} ms of its SLO of ${sloMs} ms left after the margin; its fastest pipeline takes ${ms(us)} ms`,
  );
}

/**
 * tooFewGpus says that the GPUs are too few. A plan of the LP with t times the GPUs serves at most t times what `reach`
 * bounds, so that where every class grows alike, each has to grow by the inverse of that share.
 */
function tooFewGpus(
  { models, planner }: PooledProblem,
  classes: ClassTable,
  reach: MasterResult | undefined,
): Reason {
  const counts = classes.names.map((name, k) => [name, classes.available[k] as number] as const);
  const there = counts.map(([name, count]) => `${count} ${name}`).join(', ');
  const common = { code: 'too-few-gpus', available: Object.fromEntries(counts) } as const;
  if (reach !== undefined) {
    const missing = missingGpus(counts, reach.bound);
    const served = toldUpBelow(100 * reach.bound * (1 - ROUNDING), 100);
    return {
      cause: { ...common, servedShare: reach.bound, ...(missing === undefined ? {} : { missing }) },
      text: `the rates need more than ${there}: at most ${served} % of them can be served`,
    };
  }
  if (planner.objective !== 'throughput')
    return { cause: common, text: `the rates need more whole GPUs than ${there}` };
  const names = models.map(({ name }) => name).join(', ');
  return { cause: common, text: `${there} are too few whole GPUs to serve all of ${names}` };
}

/** A count or share that the LP's rounding puts a hair above a figure is that figure. */
const ROUNDING = 1e-9;

function missingGpus(
  counts: readonly (readonly [string, number])[],
  servedShare: number,
): Record<string, number> | undefined {
  if (!(servedShare > 0 && servedShare < 1)) return undefined;
  return Object.fromEntries(
    counts.map(([name, count]) => [name, Math.ceil(count * (1 / servedShare - 1) - ROUNDING)]),
  );
}

/** Run is how long a pipeline takes, and the time that the SLO leaves at its batch size. */
interface Run {
  readonly us: number;
  readonly budgetUs: number;
}

/** The run with the most time to spare, or the least time too long. */
function leastTight(runs: readonly Run[]): Run | undefined {
  let best: Run | undefined;
  for (const run of runs)
    if (best === undefined || run.budgetUs - run.us > best.budgetUs - best.us) best = run;
  return best;
}

/** fastestRun is the run of the pipeline that is nearest to the SLO, whatever its rate. No run: the weights fit nowhere. */
function fastestRun(table: ModelTable, maxPartitions: number): Run | undefined {
  const fits = table.slots.some((slot) =>
    fitsMemory(slot, (table.weightPrefix[table.units] as number) / maxPartitions),
  );
  if (!fits) return undefined;
  const runs = Array.from(table.budgetUs, (budgetUs, b) => ({
    us: fastestUs(table, maxPartitions, b),
    budgetUs,
  }));
  return leastTight(runs.filter(({ us }) => us < Infinity));
}

/**
 * fastestUs is the latency of the fastest pipeline at a batch size, or Infinity. It keeps the fastest way to reach each
 * cut on each slot, and adds one partition after another. For each it costs cuts · slots², and cuts · slots for each
 * cut at which timed spans begin.
 */
function fastestUs(table: ModelTable, maxPartitions: number, b: number): number {
  const { slots, cuts, units } = table;
  const none = () => slots.map(() => new Float64Array(units + 1).fill(Infinity));
  let begun = none();
  for (const ways of begun) ways[0] = 0;
  let fastest = Infinity;
  for (let d = 1; ; d++) {
    const ended = begun.map((ways, s) =>
      withOneMore(ways, cuts, table.latencies[s * table.batches.length + b]),
    );
    fastest = Math.min(fastest, smallestOf(ended.map((ways) => ways[units] as number)));
    if (d === maxPartitions) return fastest;
    begun = none();
    cross(table, b, ended, begun);
  }
}

/** cross finds the fastest ways to begin a partition at each inner cut on each slot, with the transfers to it. */
function cross(
  { slots, cuts, cutBytes, batches }: ModelTable,
  b: number,
  ended: readonly Float64Array[],
  begun: readonly Float64Array[],
): void {
  const size = batches[b] as number;
  for (const cut of cuts.slice(1, -1))
    slots.forEach((to, t) => {
      const ways = begun[t] as Float64Array;
      slots.forEach((from, s) => {
        const us = transferUs(size * (cutBytes[cut] as number), slowerLink(from, to));
        ways[cut] = Math.min(ways[cut] as number, ((ended[s] as Float64Array)[cut] as number) + us);
      });
    });
}

/**
 * withOneMore gives the fastest way to each cut with one more partition, from the fastest ways to where it begins. Of
 * partitions that begin where no timed span does, only the one that is fastest so far is kept: all of them grow alike.
 */
function withOneMore(
  ways: Float64Array,
  cuts: Int32Array,
  latencies: SpanLatencies | undefined,
): Float64Array {
  const reached = new Float64Array(ways.length).fill(Infinity);
  if (latencies === undefined) return reached;
  const { joinedUs, entryUs, timedUs } = latencies;
  /** The least time of a partition under way, less the joined time of all units. */
  let least = Infinity;
  for (const cut of cuts) {
    reached[cut] = Math.min(reached[cut] as number, least + (joinedUs[cut] as number));
    const us = ways[cut] as number;
    if (us === Infinity) continue;
    if (timedUs[cut] === undefined)
      least = Math.min(least, us + (entryUs[cut] as number) - (joinedUs[cut] as number));
    else
      for (const end of cuts)
        if (end > cut) reached[end] = Math.min(reached[end] as number, us + spanUs(latencies, cut, end));
  }
  return reached;
}

/** The runs of the whole model on a slot, one per batch size that was measured and can fill at all. */
function wholeRuns(table: ModelTable, slot: Slot, s: number): Run[] {
  if (!fitsMemory(slot, table.weightPrefix[table.units] as number)) return [];
  return Array.from(table.budgetUs).flatMap((budgetUs, b) => {
    const latencies = table.latencies[s * table.batches.length + b];
    return latencies === undefined || budgetUs === -Infinity
      ? []
      : [{ us: spanUs(latencies, 0, table.units), budgetUs }];
  });
}

function perClass(model: string, table: ModelTable, classes: ClassTable): Reason[] {
  return classes.names.flatMap((name, k) => {
    const runs = table.slots.flatMap((slot, s) => (slot.classIndex === k ? wholeRuns(table, slot, s) : []));
    const run = leastTight(runs);
    if (run === undefined) return [];
    const [us, overUs] = [run.us, run.us - run.budgetUs];
    return [
      {
        cause: {
          code: 'class-too-slow',
          model,
          class: name,
          latencyMs: us / 1000,
          overMs: overUs / 1000,
        },
        text: `on ${name} it takes ${ms(us)} ms, ${overUs < 1 ? 'less than 0.001' : ms(overUs)} ms too long`,
      },
    ];
  });
}

/** The SLO whose margin leaves just enough time for the fastest pipeline and for filling its batch. */
function smallestSloMs(problem: PooledProblem, m: number, run: Run | undefined): number | undefined {
  if (run === undefined || run.budgetUs === -Infinity) return undefined;
  const { sloUs, sloMarginUs } = problem.models[m] as ProblemModel;
  const fillUs = sloUs - sloMarginUs - run.budgetUs;
  return sloLeaving(problem, m, run.us + fillUs) / 1000;
}

function ms(us: number): string {
  return (us / 1000).toFixed(3);
}
