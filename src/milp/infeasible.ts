import type { MasterResult } from './lp/index.js';
import type { PooledOutcome, PooledProblem, ProblemModel, SolverReport } from './problem.js';
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
 * infeasibility says in sentences why there is no plan. Models whose weights or fastest pipeline rule a plan out get
 * reasons of their own, and for a short SLO also one per class that holds the whole model. If there is no such model,
 * one reason says that the GPUs are too few; with `reach`, the LP's bound, it gives the share of the rates that can be
 * served. `smallestFeasibleSloMs` has an entry per model, that of its fastest pipeline with one batch size; it is
 * undefined where the weights fit nowhere or no batch can fill. It is a lower bound: memory is checked only in sum over the partitions.
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
    const run = fastest[m];
    if (run === undefined) return [`${model.name} fits on no device: its weights exceed their memory`];
    if (run.us <= run.budgetUs) return [];
    if (run.budgetUs === -Infinity)
      return [
        `${model.name} fills no batch: without partitioning it serves nothing, and batch 1 was not measured`,
      ];
    return [
      `${model.name} has ${ms(run.budgetUs)} ms of its SLO of ${model.spec.sloMs} ms left after the margin; ` +
        `its fastest pipeline takes ${ms(run.us)} ms`,
      ...perClass(table, classes),
    ];
  });
  if (reasons.length === 0) reasons.push(tooFewGpus(problem, classes, reach));
  return { status: 'infeasible', reasons, smallestFeasibleSloMs: smallest, solver };
}

function tooFewGpus(
  { models, planner }: PooledProblem,
  classes: ClassTable,
  reach: MasterResult | undefined,
): string {
  const there = classes.names.map((name, k) => `${classes.available[k]} ${name}`).join(', ');
  if (reach !== undefined)
    return `the rates need more than ${there}: at most ${(100 * reach.bound).toPrecision(4)} % of them can be served`;
  if (planner.objective !== 'throughput') return `the rates need more whole GPUs than ${there}`;
  return `${there} are too few whole GPUs to serve all of ${models.map(({ name }) => name).join(', ')}`;
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
    fastest = Math.min(fastest, ...ended.map((ways) => ways[units] as number));
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

function perClass(table: ModelTable, classes: ClassTable): string[] {
  return classes.names.flatMap((name, k) => {
    const runs = table.slots.flatMap((slot, s) => (slot.classIndex === k ? wholeRuns(table, slot, s) : []));
    const run = leastTight(runs);
    return run === undefined
      ? []
      : [`on ${name} it takes ${ms(run.us)} ms, ${ms(run.us - run.budgetUs)} ms too long`];
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
