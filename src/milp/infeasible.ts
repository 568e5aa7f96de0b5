import type { MasterResult } from './master.js';
import type { PooledOutcome, PooledProblem, ProblemModel, SolverReport } from './problem.js';
import { type ClassTable, fitsMemory, type ModelTable, type Slot } from './tables.js';

/** Why there is no plan: per model and class, in people's terms, with the smallest SLO that any pipeline would meet. */
export function infeasibility(
  problem: PooledProblem,
  classes: ClassTable,
  tables: readonly ModelTable[],
  masters: readonly MasterResult[],
  solver: SolverReport,
): PooledOutcome {
  const fastest = tables.map(fastestUs);
  const smallest = tables.map((table, m) =>
    smallestSloMs(problem.models[m] as ProblemModel, table, fastest[m]),
  );
  const reasons = tables.flatMap((table, m) => {
    const model = problem.models[m] as ProblemModel;
    const budget = table.budgetUs[0] ?? 0;
    const us = fastest[m];
    if (us === undefined) return [`${model.name} fits on no device: its weights exceed their memory`];
    if (us <= budget) return [];
    return [
      `${model.name} has ${ms(budget)} ms of its SLO of ${model.spec.sloMs} ms left after the margin; ` +
        `its fastest run without a cut takes ${ms(us)} ms`,
      ...perClass(table, classes, budget),
    ];
  });
  const reach = masters[0];
  if (reasons.length === 0 && reach !== undefined)
    reasons.push(
      `the rates asked for need more than the cluster has: at most ${(100 * reach.bound).toPrecision(4)} % of them can be served`,
    );
  return { status: 'infeasible', reasons, smallestFeasibleSloMs: smallest, solver };
}

/** Fastest whole run at the smallest batch, on any slot. */
function fastestUs(table: ModelTable): number | undefined {
  const runs = table.slots.flatMap((slot, s) => {
    const us = wholeUs(table, slot, s);
    return us === undefined ? [] : [us];
  });
  return runs.length === 0 ? undefined : Math.min(...runs);
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

/** The SLO at which the margin leaves just enough for the fastest run; a margin in milliseconds stays, a fraction scales. */
function smallestSloMs(
  { sloUs, sloMarginUs, spec }: ProblemModel,
  _table: ModelTable,
  us: number | undefined,
) {
  if (us === undefined) return undefined;
  const fixed = spec.sloMarginMs !== undefined;
  return (fixed ? us + sloMarginUs : us / (1 - sloMarginUs / sloUs)) / 1000;
}

function ms(us: number): string {
  return (us / 1000).toFixed(3);
}
