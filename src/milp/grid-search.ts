import { ListedColumns } from './column-source.js';
import { type ColumnSet, columnSetOf } from './columns.js';
import { divideByPrice, divideByWeight } from './divide.js';
import { type Grid, gridOf, leastCommonMultiple, ModelGrid } from './grid.js';
import type { LabelPricing } from './label-pricing.js';
import { columnKey } from './master.js';
import { type UsedColumn, usedRps } from './plan-model.js';
import type { IntegerSearch } from './search-types.js';
import type { ModelTable, Slot } from './tables.js';
import { type WholeGpuTable, wholeGpuTable } from './whole-gpus.js';

/** A plan from the tables: value −Infinity (Infinity for prices) where they hold none. */
export interface GridPlan {
  /** The tables themselves, by model. */
  readonly models: readonly ModelGrid[];
  readonly used: readonly UsedColumn[];
  readonly value: number;
}

/** First budget tried, as a part of the bound; each further one is twice as large. */
const FIRST_BUDGET = 0.002;

/** Part of the bound past which budgets have no end: then every state is kept. */
const LAST_BUDGET = 0.3;

/** Whether the rules bind single pools only: sizes per server and minimum shares bind many at once. */
export function isAdditive({ problem, tables }: IntegerSearch): boolean {
  const shares = tables.some(({ minShare }) => minShare.some((share) => share > 0));
  return problem.planner.virtualPer === 'gpu' && !shares;
}

/** The columns the tables are made of; `complete` where they are all there are, so that what the tables prove holds. */
export interface GridColumns {
  readonly sets: readonly ColumnSet[];
  readonly complete: boolean;
}

/** Columns this much dearer than the cheapest still take part in a search that cannot list all. */
const DEARER = 0.02;
const MOST_VARIED = 1500;

/**
 * Columns for the tables: all of them where they are listed, else those of the
 * LP and varied ones nearly as cheap.
 */
export function gridColumns(search: IntegerSearch): GridColumns {
  const { sources, problem, tables, master } = search;
  const sets = sources.map((source, m) => {
    if (source instanceof ListedColumns) return source.set;
    const own = master.modelPrices[m] as number;
    const prices = { perGpu: master.gpuPrices, perUse: master.usePrices[m] as readonly number[] };
    const varied = (source as LabelPricing).variedBelow(own * (1 + DEARER), prices, MOST_VARIED);
    const known = master.columns.filter((column) => column.model === m);
    const all = new Map(
      [...known, ...varied.map(({ column }) => column)].map((column) => [columnKey(column), column]),
    );
    return columnSetOf(tables[m] as ModelTable, problem.planner.maxPartitions, [...all.values()]);
  });
  return { sets, complete: master.closed && sources.every((source) => source instanceof ListedColumns) };
}

/** The unit that all virtual sizes in use divide, where GPUs are shared by unlike partitions. */
export function sharedUnit({ tables }: IntegerSearch): number {
  return leastCommonMultiple(tables.flatMap(({ slots }) => slots.map(({ virtual }) => virtual)));
}

/** What is served already and by what; the tables divide the rest. */
export interface Bulk {
  readonly used: readonly UsedColumn[];
  readonly rps: readonly number[];
  readonly available: readonly number[];
}

/**
 * The best plan by tables over amounts of GPUs (`ModelGrid`), exact for the rule asked for: whole GPUs per pool, or
 * fractions of GPUs, which is the rule `class` for one model and a bound for `position`.
 * @param known value of a plan that there is: only what may be better is looked at
 * @returns undefined where the tables would be too large
 */
export function gridPlan(
  search: IntegerSearch,
  sets: readonly ColumnSet[],
  pool: boolean,
  known?: number,
): GridPlan | undefined {
  const { classes } = search;
  const grid = gridOf(classes.available, pool ? 1 : sharedUnit(search));
  if (grid === undefined) return undefined;
  const bulk: Bulk = { used: [], rps: sets.map(() => 0), available: classes.available };
  return sets.length === 1
    ? oneModel(search, sets[0] as ColumnSet, grid, pool, bulk, known)
    : severalModels(search, sets, grid, pool, bulk, known);
}

/** Most GPUs of a class that are left to the tables where the whole cluster is too large for them. */
const LEFT_STATES = { oneModel: 4000, severalModels: 2500 };

/**
 * Large clusters: most GPUs go to the LP's own columns in its own proportions, where rounding to whole GPUs loses least;
 * the rest is planned exactly by tables. Not proven optimal; its gap to the LP's bound falls as clusters grow.
 */
export function bulkPlan(search: IntegerSearch, sets: readonly ColumnSet[]): GridPlan | undefined {
  const { classes, master, tables } = search;
  const states = sets.length === 1 ? LEFT_STATES.oneModel : LEFT_STATES.severalModels;
  const left = Math.floor(states ** (1 / classes.names.length));
  const least = Math.min(...classes.available.filter((n) => n > left), Infinity);
  const part = least === Infinity ? 0 : 1 - left / Math.max(...classes.available);
  const available = [...classes.available];
  const used: UsedColumn[] = [];
  const rps = sets.map(() => 0);
  master.columns.forEach((column, c) => {
    const table = tables[column.model] as ModelTable;
    const wanted = part * (master.rps[c] as number);
    const slots = column.parts.map(({ slot }) => table.slots[slot] as Slot);
    const gpus = column.parts.map((p, d) => Math.floor(wanted / (p.rps * (slots[d] as Slot).virtual)));
    if (gpus.some((n) => n === 0)) return;
    const one = { column, virtualGpus: gpus.map((n, d) => n * (slots[d] as Slot).virtual) };
    used.push(one);
    rps[column.model] = (rps[column.model] as number) + usedRps(one);
    gpus.forEach((n, d) => {
      const k = (slots[d] as Slot).classIndex;
      available[k] = (available[k] as number) - n;
    });
  });
  const grid = gridOf(available, 1);
  if (grid === undefined || (sets.length > 1 && grid.states > 10 * states)) return undefined;
  return withBudgets(
    search,
    sets,
    grid,
    true,
    sets.map(() => Infinity),
    { used, rps, available },
  );
}

/** One model: budgets grow until the plan found lies within the budget, which proves it. */
function oneModel(
  search: IntegerSearch,
  set: ColumnSet,
  grid: Grid,
  pool: boolean,
  bulk: Bulk,
  known?: number,
): GridPlan {
  const scale = lossScale(search);
  let budget = known === undefined ? FIRST_BUDGET * scale : excessOf(search, known) + 1e-9 * scale;
  // Prices that hold a minimum share up do not bound plans without it: no state may be left out then.
  if (search.master.usePrices.some((prices) => prices.some((price) => price > 0))) budget = Infinity;
  for (;;) {
    const found = withBudgets(search, [set], grid, pool, [budget], bulk) as GridPlan;
    const excess = excessOf(search, found.value);
    if (excess <= budget || budget === Infinity) return found;
    budget = 2 * budget > LAST_BUDGET * scale ? Infinity : 2 * budget;
  }
}

function severalModels(
  search: IntegerSearch,
  sets: readonly ColumnSet[],
  grid: Grid,
  pool: boolean,
  bulk: Bulk,
  known?: number,
): GridPlan | undefined {
  const { master } = search;
  const excess = known === undefined ? Infinity : excessOf(search, known) * (master.modelPrices[0] as number);
  const rounding = 1e-9 * lossScale(search);
  const budgets = sets.map((_, m) => excess / (master.modelPrices[m] as number) + rounding);
  return withBudgets(search, sets, grid, pool, budgets, bulk);
}

/** What the budget is measured in: requests per second of the first model at the LP's prices. */
function lossScale({ master, problem }: IntegerSearch): number {
  if (problem.planner.objective === 'throughput') return master.bound * (problem.models[0]?.weight ?? 1);
  return problem.models[0]?.rps ?? 1;
}

/** How far a value lies from the LP's bound, in the same measure: the losses of a plan with that value cannot sum to more. */
export function excessOf({ master, problem, classes }: IntegerSearch, value: number): number {
  if (problem.planner.objective !== 'throughput')
    return (value - master.bound) / (master.modelPrices[0] as number);
  const worth = classes.available.reduce((sum, n, k) => sum + n * (master.gpuPrices[k] as number), 0);
  const carried = problem.models.reduce(
    (sum, { weight }, m) => sum + weight * (master.modelPrices[m] as number),
    0,
  );
  return (worth - value * carried) / (master.modelPrices[0] as number);
}

function withBudgets(
  search: IntegerSearch,
  sets: readonly ColumnSet[],
  grid: Grid,
  pool: boolean,
  budgets: readonly number[],
  bulk: Bulk,
): GridPlan | undefined {
  const { problem, classes, master } = search;
  const models = sets.map((set, m) => {
    const own = master.modelPrices[m] as number;
    const budget = budgets[m] as number;
    const gpuPrices = classes.names.map((_, k) =>
      Number.isFinite(budget) ? (master.gpuPrices[k] as number) / own : 0,
    );
    return new ModelGrid(grid, set, { pool, gpuPrices, budget });
  });
  const tables = models.map((model) => wholeGpuTable(model, bulk.available));
  const weights = problem.models.map(({ weight }) => weight);
  const left = problem.models.map((model, m) => Math.max(0, (model.rps ?? 0) - (bulk.rps[m] as number)));
  const division =
    problem.planner.objective === 'throughput'
      ? divideByWeight(tables, weights, master.bound, bulk.rps)
      : divideByPrice(tables, left, classes.unitCost);
  if (division === undefined) return undefined;
  const used = division.states.flatMap((state, m) =>
    (models[m] as ModelGrid).columnsAt((tables[m] as WholeGpuTable).at[state] as number),
  );
  return { models, used: merged([...bulk.used, ...used]), value: division.value };
}

/** The same column twice is one pipeline with the GPUs of both. */
function merged(used: readonly UsedColumn[]): UsedColumn[] {
  const byKey = new Map<string, UsedColumn>();
  for (const one of used) {
    const key = columnKey(one.column);
    const known = byKey.get(key);
    const virtualGpus = one.virtualGpus.map((g, d) => g + (known?.virtualGpus[d] ?? 0));
    byKey.set(key, { column: one.column, virtualGpus });
  }
  return [...byKey.values()];
}
