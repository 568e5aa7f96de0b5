import type { MasterResult } from './lp/index.js';
import type { PooledOutcome, PooledProblem, ProblemModel, SolverReport } from './problem.js';
import {
  type ClassTable,
  fitsMemory,
  type ModelTable,
  type ProblemTables,
  type Slot,
  slowerLink,
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
 * fastestUs is the latency of the fastest pipeline at a batch size, or Infinity. It walks the cuts once and keeps the
 * fastest way to reach each slot after each number of partitions.
 */
function fastestUs(table: ModelTable, maxPartitions: number, b: number): number {
  const { slots, cuts } = table;
  const size = table.batches[b] as number;
  let ways = new Float64Array(maxPartitions * slots.length).fill(Infinity);
  for (let s = 0; s < slots.length; s++) ways[s] = 0;
  for (let j = 1; j < cuts.length; j++) {
    const [from, to] = [cuts[j - 1] as number, cuts[j] as number];
    if (j > 1) ways = switched(table, ways, maxPartitions, size * (table.cutBytes[from] as number));
    ways = ways.map((us, at) => {
      const prefix = table.prefixUs[(at % slots.length) * table.batches.length + b];
      return prefix === undefined ? Infinity : us + (prefix[to] as number) - (prefix[from] as number);
    });
  }
  return Math.min(...ways);
}

/** At a cut a pipeline stays on its slot, or crosses to another slot as one more partition. */
function switched(
  table: ModelTable,
  ways: Float64Array,
  maxPartitions: number,
  bytes: number,
): Float64Array<ArrayBuffer> {
  const { slots } = table;
  const next = Float64Array.from(ways);
  for (let d = 1; d < maxPartitions; d++)
    slots.forEach((to, t) => {
      slots.forEach((from, s) => {
        const us = (ways[(d - 1) * slots.length + s] as number) + transferUs(bytes, slowerLink(from, to));
        const at = d * slots.length + t;
        if (us < (next[at] as number)) next[at] = us;
      });
    });
  return next;
}

/** The runs of the whole model on a slot, one per batch size that was measured. */
function wholeRuns(table: ModelTable, slot: Slot, s: number): Run[] {
  if (!fitsMemory(slot, table.weightPrefix[table.units] as number)) return [];
  return Array.from(table.budgetUs).flatMap((budgetUs, b) => {
    const us = table.prefixUs[s * table.batches.length + b]?.[table.units];
    return us === undefined ? [] : [{ us, budgetUs }];
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
