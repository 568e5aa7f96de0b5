import { ListedColumns } from './column-source.js';
import { type ColumnSet, columnSetOf } from './columns.js';
import { type Division, divideByPrice, divideByWeight } from './divide.js';
import { type Grid, gridOf, leastCommonMultiple, ModelGrid } from './grid.js';
import type { LabelPricing } from './label-pricing.js';
import { columnKey } from './master.js';
import type { UsedColumn } from './plan-model.js';
import type { IntegerSearch } from './search-types.js';
import type { ModelTable } from './tables.js';
import { type WholeGpuTable, wholeGpuTable } from './whole-gpus.js';

/** A plan from the tables, and a bound they prove. */
export interface GridPlan {
  /** The tables themselves, by model. */
  readonly models: readonly ModelGrid[];
  readonly used: readonly UsedColumn[];
  readonly value: number;
  readonly bound: number;
}

/** First budget tried, as a part of the bound; each further one is twice as large. */
const FIRST_BUDGET = 0.002;

/** Part of the bound past which budgets have no end: then every state is kept. */
const LAST_BUDGET = 0.3;

/** The columns the tables are made of; `complete` where they are all there are, so that what the tables prove holds. */
export interface GridColumns {
  readonly sets: readonly ColumnSet[];
  readonly complete: boolean;
}

/** Columns this much dearer than the cheapest still take part in a search that cannot list all. */
const DEARER = 0.02;
const MOST_VARIED = 1500;

/**
 * Columns for the tables, where the rules are additive over pools: all of them where they are listed, else those of the
 * LP and varied ones nearly as cheap.
 */
export function gridColumns(search: IntegerSearch): GridColumns | undefined {
  const { sources, problem, tables, master } = search;
  if (problem.planner.virtualPer === 'server') return undefined;
  if (tables.some(({ minShare }) => minShare.some((share) => share > 0))) return undefined;
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
  return { sets, complete: sources.every((source) => source instanceof ListedColumns) };
}

/** The unit that all virtual sizes in use divide, where GPUs are shared by unlike partitions. */
export function sharedUnit({ tables }: IntegerSearch): number {
  return leastCommonMultiple(tables.flatMap(({ slots }) => slots.map(({ virtual }) => virtual)));
}

/**
 * The best plan by tables over amounts of GPUs (`ModelGrid`), exact for the rule asked for: whole GPUs per pool, or
 * fractions of GPUs, which is the rule `class` for one model and a bound for `position`.
 * @returns undefined where the tables would be too large; value −Infinity (Infinity for prices) where no plan was found
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
  return sets.length === 1
    ? oneModel(search, sets[0] as ColumnSet, grid, pool, known)
    : severalModels(search, sets, grid, pool, known);
}

/** One model: budgets grow until the plan found lies within the budget, which proves it. */
function oneModel(
  search: IntegerSearch,
  set: ColumnSet,
  grid: Grid,
  pool: boolean,
  known?: number,
): GridPlan {
  const scale = lossScale(search);
  let budget = known === undefined ? FIRST_BUDGET * scale : excessOf(search, known) + 1e-9 * scale;
  for (;;) {
    const found = withBudgets(search, [set], grid, pool, [budget]) as GridPlan;
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
  known?: number,
): GridPlan | undefined {
  const { master } = search;
  const excess = known === undefined ? Infinity : excessOf(search, known) * (master.modelPrices[0] as number);
  const budgets = sets.map((_, m) => excess / (master.modelPrices[m] as number) + 1e-9);
  return withBudgets(search, sets, grid, pool, budgets);
}

/** What the budget is measured in: requests per second of the first model at the LP's prices. */
function lossScale({ master, problem }: IntegerSearch): number {
  if (problem.planner.objective === 'throughput') return master.bound * (problem.models[0]?.weight ?? 1);
  return problem.models[0]?.rps ?? 1;
}

/** Inverse of `excessOf`, for throughput. */
export function valueOfExcess({ master, problem, classes }: IntegerSearch, excess: number): number {
  const worth = classes.available.reduce((sum, n, k) => sum + n * (master.gpuPrices[k] as number), 0);
  const carried = problem.models.reduce(
    (sum, { weight }, m) => sum + weight * (master.modelPrices[m] as number),
    0,
  );
  return (worth - excess * (master.modelPrices[0] as number)) / carried;
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
  const tables = models.map((model) => wholeGpuTable(model, classes.available));
  const division =
    problem.planner.objective === 'throughput'
      ? divideByWeight(
          tables,
          problem.models.map(({ weight }) => weight),
        )
      : divideByPrice(
          tables,
          problem.models.map((model) => model.rps ?? 0),
          classes.unitCost,
        );
  return division === undefined
    ? undefined
    : { models, ...planOf(models, tables, division), bound: division.value };
}

function planOf(
  models: readonly ModelGrid[],
  tables: readonly WholeGpuTable[],
  { value, states }: Division,
): { used: UsedColumn[]; value: number } {
  const used = states.flatMap((state, m) =>
    (models[m] as ModelGrid).columnsAt((tables[m] as WholeGpuTable).at[state] as number),
  );
  return { used, value };
}
