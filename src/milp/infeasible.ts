import type { MasterResult } from './lp/index.js';
import type { PooledOutcome, PooledProblem, ProblemModel, SolverReport } from './problem.js';
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
 * undefined where the weights fit nowhere. It is a lower bound: memory is checked only in sum over the partitions.
 */
export function infeasibility(
  problem: PooledProblem,
  { classes, tables }: ProblemTables,
  { reach, solver }: { readonly reach?: MasterResult | undefined; readonly solver: SolverReport },
): PooledOutcome {
  const fastest = tables.map((table) => fastestRun(table, problem.planner.maxPartitions));
  const smallest = tables.map((_, m) =>
    smallestSloMs(problem.planner, problem.models[m] as ProblemModel, fastest[m]),
  );
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
  return [...runs].sort((a, b) => b.budgetUs - b.us - (a.budgetUs - a.us))[0];
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
 * cut on each slot, and adds one partition after another. It costs cuts² · slots per partition.
 */
function fastestUs(table: ModelTable, maxPartitions: number, b: number): number {
  const { slots, cuts, units } = table;
  const size = table.batches[b] as number;
  const none = () => slots.map(() => new Float64Array(units + 1).fill(Infinity));
  let begun = none();
  for (const ways of begun) ways[0] = 0;
  let fastest = Infinity;
  for (let d = 0; d < maxPartitions; d++) {
    const ended = begun.map((ways, s) =>
      withOneMore(ways, cuts, table.latencies[s * table.batches.length + b]),
    );
    fastest = Math.min(fastest, ...ended.map((ways) => ways[units] as number));
    begun = none();
    for (const cut of cuts.slice(1, -1))
      slots.forEach((to, t) => {
        const ways = begun[t] as Float64Array;
        slots.forEach((from, s) => {
          const us = transferUs(size * (table.cutBytes[cut] as number), slowerLink(from, to));
          ways[cut] = Math.min(ways[cut] as number, ((ended[s] as Float64Array)[cut] as number) + us);
        });
      });
  }
  return fastest;
}

/** withOneMore gives the fastest way to each cut with one more partition, from the fastest ways to where it begins. */
function withOneMore(
  ways: Float64Array,
  cuts: Int32Array,
  latencies: SpanLatencies | undefined,
): Float64Array {
  const reached = new Float64Array(ways.length).fill(Infinity);
  if (latencies === undefined) return reached;
  for (let i = 0; i < cuts.length; i++) {
    const first = cuts[i] as number;
    if (ways[first] === Infinity) continue;
    for (let j = i + 1; j < cuts.length; j++) {
      const end = cuts[j] as number;
      const us = (ways[first] as number) + spanUs(latencies, first, end);
      if (us < (reached[end] as number)) reached[end] = us;
    }
  }
  return reached;
}

/** The runs of the whole model on a slot, one per batch size that was measured. */
function wholeRuns(table: ModelTable, slot: Slot, s: number): Run[] {
  if (!fitsMemory(slot, table.weightPrefix[table.units] as number)) return [];
  return Array.from(table.budgetUs).flatMap((budgetUs, b) => {
    const latencies = table.latencies[s * table.batches.length + b];
    return latencies === undefined ? [] : [{ us: spanUs(latencies, 0, table.units), budgetUs }];
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

/**
 * The SLO whose margin leaves just enough time for the fastest pipeline and for filling its batch. A margin in
 * milliseconds stays the same; a fraction scales with the SLO.
 */
function smallestSloMs(
  planner: PooledProblem['planner'],
  { sloUs, sloMarginUs, spec }: ProblemModel,
  run: Run | undefined,
): number | undefined {
  if (run === undefined || run.budgetUs === -Infinity) return undefined;
  const fillUs = sloUs - sloMarginUs - run.budgetUs;
  const scales = spec.sloMargin !== undefined || planner.sloMarginMs === undefined;
  const fixed = spec.sloMarginMs !== undefined || !scales;
  const neededUs = run.us + fillUs;
  return (fixed ? neededUs + sloMarginUs : neededUs / (1 - sloMarginUs / sloUs)) / 1000;
}

function ms(us: number): string {
  return (us / 1000).toFixed(3);
}
