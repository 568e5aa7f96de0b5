import type { ColumnSet } from '../../columns/index.js';
import { columnKey } from '../../master/index.js';
import type { UsedColumn } from '../../plan/index.js';
import { SLACK } from '../../rounding.js';
import { isMaximised } from '../candidates.js';
import {
  type Division,
  divideByPrice,
  divideByWeight,
  heldToShares,
  minSharesOf,
} from '../division/index.js';
import { type Grid, gridOf, leastCommonMultiple, type ModelGrid, type WholeGpuTable } from '../grid/index.js';
import { budgetFor, excessOf, LAST_BUDGET, lossScale, startBudget, valueWithin } from '../losses.js';
import type { IntegerSearch } from '../search-types.js';
import { type FillRule, type ModelRates, modelRates } from './model-rates.js';

/** GridPlan is a plan from the tables. Its value is −Infinity (Infinity for prices) if the tables hold none. */
export interface GridPlan {
  /** The tables, by model; none of a model with a minimum share. */
  readonly models: readonly ModelGrid[];
  readonly used: readonly UsedColumn[];
  readonly value: number;
}

/**
 * isAdditive says whether the rules bind single pools only. Sizes per server and minimum shares bind many pools at
 * once.
 */
export function isAdditive({ problem, tables }: IntegerSearch): boolean {
  return problem.planner.virtualPer === 'gpu' && tables.every((table) => minSharesOf(table).length === 0);
}

/**
 * sharedUnit is the number of units per GPU for GPUs that unlike partitions share: the least common multiple of all
 * virtual sizes that some model may use and has latencies of.
 */
export function sharedUnit({ tables }: Pick<IntegerSearch, 'tables'>): number {
  return leastCommonMultiple(
    tables.flatMap(({ slots, batches, latencies }) =>
      slots.flatMap(({ virtual }, s) =>
        batches.some((_, b) => latencies[s * batches.length + b] !== undefined) ? [virtual] : [],
      ),
    ),
  );
}

/** Bulk holds the rates that are served already, and the pipelines that serve them. The tables divide the rest. */
export interface Bulk {
  readonly used: readonly UsedColumn[];
  readonly rps: readonly number[];
  readonly available: readonly number[];
}

/** GridGoal says what to find by the tables. */
export interface GridGoal {
  readonly rule: FillRule;
  /** The value of a known plan: only better plans are sought. */
  readonly known?: number;
  /** The numbers of GPUs by class that are worth considering; all of them if it is left out. */
  readonly available?: readonly number[];
}

/**
 * gridPlan finds the best plan of the given columns by tables over amounts of GPUs (`ModelGrid`). It is exact for the
 * given rule. The rules are whole GPUs per pool; fractions of GPUs with whole GPUs per model, which bounds `position`;
 * and fractions that all models share, which is `class`. It keeps one minimum share per model, and no sizes per server.
 * @param sets the columns of each model
 * @returns undefined if the tables would be too large, or if the search was stopped
 */
export function gridPlan(
  search: IntegerSearch,
  sets: readonly ColumnSet[],
  { rule, known, available = search.classes.available }: GridGoal,
): GridPlan | undefined {
  const grid = gridOf(available, rule.pool ? 1 : sharedUnit(search), sets.length);
  if (grid === undefined) return undefined;
  return growing(search, sets, grid, rule, available, known);
}

/** growing raises the budget until the plan found lies within it, which proves the plan. */
function growing(
  search: IntegerSearch,
  sets: readonly ColumnSet[],
  grid: Grid,
  rule: FillRule,
  available: readonly number[],
  known: number | undefined,
): GridPlan | undefined {
  const scale = lossScale(search);
  const bulk: Bulk = { used: [], rps: sets.map(() => 0), available };
  let budget = known === undefined ? startBudget(scale) : budgetFor(search, known);
  for (;;) {
    const found = withBudget(search, sets, { grid, rule, budget, bulk });
    if (found === undefined || budget === Infinity || known !== undefined) return found;
    const excess = excessOf(search, found.value);
    if (excess <= budget) return found;
    budget = Number.isFinite(excess) ? budgetFor(search, found.value) : 2 * budget;
    if (!(budget <= LAST_BUDGET * scale)) budget = Infinity;
  }
}

/** BudgetedTables says which tables are made, and what they leave out. */
interface BudgetedTables {
  readonly grid: Grid;
  readonly rule: FillRule;
  /** The tables hold no plan that loses more. */
  readonly budget: number;
  /** The GPUs that the bulk serves already; its `available` GPUs are divided. */
  readonly bulk: Bulk;
}

/** withBudget makes all models' tables with a budget and divides the GPUs; it is undefined if it was stopped. */
export function withBudget(
  search: IntegerSearch,
  sets: readonly ColumnSet[],
  { grid, rule, budget, bulk }: BudgetedTables,
): GridPlan | undefined {
  const models: ModelRates[] = [];
  for (const [m, set] of sets.entries()) {
    const model = modelRates(search, [m, set], { grid, rule, budget, available: bulk.available });
    if (model === undefined) return undefined;
    models.push(model);
  }
  const tables = models.map(({ table }) => table);
  const division = divided(search, tables, rule.shared ? grid.perGpu : 1, budget, bulk.rps);
  if (division === undefined) return undefined;
  const used = division.states.flatMap((state, m) => (models[m] as ModelRates).columnsAt(state));
  const merged = mergedColumns([...bulk.used, ...used]);
  return {
    models: models.flatMap((model) => model.grid ?? []),
    used: heldToShares(merged, search.tables),
    value: division.value,
  };
}

/**
 * divisionOf is the best division of whole GPUs among those that may be better than a known plan.
 * @param known the value of that plan
 * @returns undefined if the tables are too large or the search was stopped
 */
export function divisionOf(
  search: IntegerSearch,
  tables: readonly WholeGpuTable[],
  known: number,
): Division | undefined {
  const budget = budgetFor(search, known);
  return divided(
    search,
    tables,
    1,
    budget,
    tables.map(() => 0),
  );
}

function divided(
  search: IntegerSearch,
  tables: readonly WholeGpuTable[],
  perGpu: number,
  budget: number,
  base: readonly number[],
): Division | undefined {
  const { master, tables: models, classes, scale, stop } = search;
  const bounded = Number.isFinite(budget);
  if (!isMaximised(search))
    return divideByPrice(tables, {
      rps: models.map(({ rps = 0 }, m) => Math.max(0, rps - (base[m] as number))),
      unitCost: classes.unitCost,
      perGpu,
      stop,
      ...(bounded ? { most: valueWithin(search, budget) } : {}),
    });
  const perUnit = master.gpuPrices.map((price) => price / perGpu);
  const worth = { perUnit, perModel: master.modelPrices };
  return divideByWeight(tables, {
    weights: models.map(({ weight }) => weight),
    bound: master.bound,
    base,
    unitRps: scale.rps,
    stop,
    ...(bounded ? { least: valueWithin(search, budget) * (1 - SLACK), worth } : {}),
  });
}

/** mergedColumns makes one pipeline of a column that is used several times, with the GPUs of all. */
export function mergedColumns(used: readonly UsedColumn[]): UsedColumn[] {
  const byKey = new Map<string, UsedColumn>();
  for (const one of used) {
    const key = columnKey(one.column);
    const known = byKey.get(key);
    const virtualGpus = one.virtualGpus.map((g, d) => g + (known?.virtualGpus[d] ?? 0));
    byKey.set(key, { column: one.column, virtualGpus });
  }
  return [...byKey.values()];
}
