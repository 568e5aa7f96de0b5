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
 * served. `smallestFeasibleSloMs` looks only at the smallest batch size, and is a lower bound: memory is checked
 * only in sum over the partitions.
 */
export function infeasibility(
  problem: PooledProblem,
  { classes, tables }: ProblemTables,
  { reach, solver }: { readonly reach?: MasterResult | undefined; readonly solver: SolverReport },
): PooledOutcome {
  const fastest = tables.map((table) => fastestUs(table, problem.planner.maxPartitions));
  const smallest = tables.map((table, m) =>
    smallestSloMs(problem.planner, problem.models[m] as ProblemModel, { table, us: fastest[m] }),
  );
  const reasons = tables.flatMap((table, m) => {
    const model = problem.models[m] as ProblemModel;
    const budget = table.budgetUs[0] ?? 0;
    const us = fastest[m];
    if (us === undefined) return [`${model.name} fits on no device: its weights exceed their memory`];
    if (us <= budget) return [];
    return [
      `${model.name} has ${ms(budget)} ms of its SLO of ${model.spec.sloMs} ms left after the margin; ` +
        `its fastest pipeline takes ${ms(us)} ms`,
      ...perClass(table, classes, budget),
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

/**
 * fastestUs is the latency of the fastest pipeline at the smallest batch size, whatever its rate. It is undefined if
 * the weights fit nowhere. It walks the cuts once and keeps the fastest way to reach each slot after each number of
 * partitions.
 */
function fastestUs(table: ModelTable, maxPartitions: number): number | undefined {
  const { slots, cuts } = table;
  const size = table.batches[0] ?? 1;
  let ways = new Float64Array(maxPartitions * slots.length).fill(Infinity);
  for (let s = 0; s < slots.length; s++) ways[s] = 0;
  for (let j = 1; j < cuts.length; j++) {
    const [from, to] = [cuts[j - 1] as number, cuts[j] as number];
    if (j > 1) ways = switched(table, ways, maxPartitions, size * (table.cutBytes[from] as number));
    ways = ways.map((us, at) => {
      const prefix = table.prefixUs[(at % slots.length) * table.batches.length];
      return prefix === undefined ? Infinity : us + (prefix[to] as number) - (prefix[from] as number);
    });
  }
  const best = Math.min(...ways);
  const fits = slots.some((slot) =>
    fitsMemory(slot, (table.weightPrefix[table.units] as number) / maxPartitions),
  );
  return best === Infinity || !fits ? undefined : best;
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

function wholeUs(table: ModelTable, slot: Slot, s: number): number | undefined {
  if (!fitsMemory(slot, table.weightPrefix[table.units] as number)) return undefined;
  return table.prefixUs[s * table.batches.length]?.[table.units];
}

function perClass(table: ModelTable, classes: ClassTable, budgetUs: number): string[] {
  return classes.names.flatMap((name, k) => {
    const runs = table.slots.flatMap((slot, s) => {
      const us = slot.classIndex === k ? wholeUs(table, slot, s) : undefined;
      return us === undefined ? [] : [us];
    });
    if (runs.length === 0) return [];
    const best = Math.min(...runs);
    return [`on ${name} it takes ${ms(best)} ms, ${ms(best - budgetUs)} ms too long`];
  });
}

/**
 * The SLO whose margin leaves just enough time for the fastest pipeline and for filling its batch. A margin in
 * milliseconds stays the same; a fraction scales with the SLO.
 */
function smallestSloMs(
  planner: PooledProblem['planner'],
  { sloUs, sloMarginUs, spec }: ProblemModel,
  { table, us }: { readonly table: ModelTable; readonly us: number | undefined },
): number | undefined {
  const fillUs = sloUs - sloMarginUs - (table.budgetUs[0] ?? 0);
  if (us === undefined || fillUs === Infinity) return undefined;
  const scales = spec.sloMargin !== undefined || planner.sloMarginMs === undefined;
  const fixed = spec.sloMarginMs !== undefined || !scales;
  const neededUs = us + fillUs;
  return (fixed ? neededUs + sloMarginUs : neededUs / (1 - sloMarginUs / sloUs)) / 1000;
}

function ms(us: number): string {
  return (us / 1000).toFixed(3);
}
