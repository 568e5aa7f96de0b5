import { largestOf } from '../../collections/index.js';
import type { LabelPricing } from '../columns/index.js';
import {
  type ColumnSet,
  columnSetOf,
  columnsUsing,
  ListedColumns,
  type PricedColumn,
} from '../columns/index.js';
import { columnKey } from '../master/index.js';
import type { PlanOptions } from '../options.js';
import { type UsedColumn, usedRps } from '../plan/index.js';
import { SLACK } from '../rounding.js';
import type { ModelTable, Slot } from '../tables/index.js';
import { isMaximised } from './candidates.js';
import { divideByPrice } from './divide-by-price.js';
import { divideByWeight } from './divide-by-weight.js';
import type { Division } from './division.js';
import { type Grid, gridOf, leastCommonMultiple, ModelGrid } from './grid.js';
import {
  budgetFor,
  excessOf,
  LAST_BUDGET,
  lossScale,
  mostWorth,
  startBudget,
  valueWithin,
} from './losses.js';
import { cappedBy, gpusUsed, priceOf, roundedUp } from './rounded.js';
import { type IntegerSearch, isStopped } from './search-types.js';
import { heldToShares, type MinShare, minSharesOf, ShareTable, sharePrices } from './share-table.js';
import type { SlotSequence } from './slot-sequences.js';
import { WholeGpuPricing } from './whole-gpu-pricing.js';
import { atWholeGpus, unitTable, type WholeGpuTable, wholeGpuTable } from './whole-gpus.js';

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
 * GridColumns are the columns from which tables are made. If they are `complete`, there are no others, and a proof by
 * the tables holds for all plans.
 */
export interface GridColumns {
  readonly sets: readonly ColumnSet[];
  readonly complete: boolean;
}

/** Columns that cost this much more than the cheapest still take part in a search that cannot list all. */
const DEARER = 0.02;
const MOST_VARIED = 1500;
const MOST_CHEAP = 1000;

/**
 * gridColumns chooses the columns for the tables: all of them if they are listed, and otherwise those of the LP and up
 * to 1,500 varied ones that cost at most 2 % more than the cheapest (none if the search is stopped).
 */
export function gridColumns(search: IntegerSearch): GridColumns {
  const { sources, master } = search;
  const sets = sources.map((source, m) => {
    if (source instanceof ListedColumns) return source.set;
    const own = master.modelPrices[m] as number;
    const prices = { perGpu: master.gpuPrices, perUse: master.usePrices[m] as readonly number[] };
    const varied = isStopped(search)
      ? []
      : (source as LabelPricing).variedBelow(own * (1 + DEARER), prices, MOST_VARIED);
    return setWith(search, m, varied);
  });
  return { sets, complete: sources.every((source) => source instanceof ListedColumns) };
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

/** FillRule says which partitions fill whole GPUs together in the tables. */
export interface FillRule {
  /** If true, each pool fills whole GPUs; otherwise fractions of GPUs add up. */
  readonly pool: boolean;
  /** If true, fractions of unlike models add up as well; otherwise each model has whole GPUs of its own. */
  readonly shared: boolean;
  /**
   * The sequences of slots of each model whose columns are not listed. The tables then also hold these columns, as far
   * as they lie within the budget.
   */
  readonly priced?: readonly (readonly SlotSequence[] | undefined)[];
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

/** If a cluster is too large for the tables, they have at most this many states. */
const LEFT_STATES = { oneModel: 2000, severalModels: 2500 };

/**
 * bulkPlan plans large clusters, with whole GPUs per pool. Most GPUs go to the LP's own columns in its own proportions,
 * for which rounding to whole GPUs loses least; the rest is planned by tables of a few thousand states, even if the
 * search must end. The plan is not proven optimal; its gap to the LP's bound falls as clusters grow.
 * @returns undefined if even the rest is too large for tables
 */
export function bulkPlan(search: IntegerSearch): GridPlan | undefined {
  const { classes, sources } = search;
  const states = sources.length === 1 ? LEFT_STATES.oneModel : LEFT_STATES.severalModels;
  const left = Math.floor(states ** (1 / classes.names.length));
  const priced = !isMaximised(search);
  const amounts = priced ? gpusUsed(search) : classes.available;
  const most = largestOf(amounts);
  const part = most > left ? 1 - left / most : 0;
  const bulk = bulkOf(search, part);
  const rest = priced ? cappedBy(search, roundedUp(search, part), bulk.available) : bulk.available;
  const available = withinStates(rest, 4 * states);
  const grid = gridOf(available, 1, sources.length);
  if (grid === undefined) return undefined;
  const rule: FillRule = { pool: true, shared: false };
  const patient = { ...search, options: withoutEnd(search.options), stop: () => false };
  const plan = withBudget(patient, cheapSets(search), {
    grid,
    rule,
    budget: Infinity,
    bulk: { ...bulk, available },
  });
  if (plan === undefined || !priced) return plan;
  // The pipelines of the bulk alone miss the rates, so they are no plan.
  return plan.value === Infinity ? { ...plan, used: [] } : { ...plan, value: priceOf(search, plan.used) };
}

/** cheapSets gives the cheapest columns of every model. */
function cheapSets(search: IntegerSearch): ColumnSet[] {
  const { sources, master } = search;
  return sources.map((source, m) => {
    const prices = { perGpu: master.gpuPrices, perUse: master.usePrices[m] as readonly number[] };
    const below = (master.modelPrices[m] as number) * (1 + DEARER);
    const cheap = source instanceof ListedColumns ? source.cheaperThan(below, prices, MOST_CHEAP) : [];
    return setWith(search, m, cheap);
  });
}

/** setWith joins the columns of a model that proved the bound with others, each once. */
function setWith(
  { master, tables, problem }: IntegerSearch,
  m: number,
  others: readonly PricedColumn[],
): ColumnSet {
  const known = master.columns.filter((column) => column.model === m);
  const all = [...known, ...others.map(({ column }) => column)];
  const each = new Map(all.map((column) => [columnKey(column), column]));
  return columnSetOf(tables[m] as ModelTable, problem.planner.maxPartitions, [...each.values()]);
}

/** withinStates takes GPUs off the class that has most until the states are few enough. */
function withinStates(available: readonly number[], states: number): number[] {
  const some = [...available];
  while (some.reduce((product, n) => product * (n + 1), 1) > states) {
    const most = some.indexOf(largestOf(some));
    some[most] = Math.floor((some[most] as number) * 0.9);
  }
  return some;
}

/** The rest of a large cluster is small, so it is planned even if the search must end. */
function withoutEnd({ interrupted: _, timeLimitMs: __, ...options }: PlanOptions): PlanOptions {
  return options;
}

/** bulkOf gives whole GPUs to the LP's columns at a part of its throughput. */
function bulkOf({ classes, master, tables }: IntegerSearch, part: number): Bulk {
  const available = [...classes.available];
  const used: UsedColumn[] = [];
  const rps = tables.map(() => 0);
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
  return { used, rps, available };
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
    const model = modelRates(search, set, { grid, rule, budget, available: bulk.available }, m);
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

/** ModelRates holds the highest rates of a model, and the columns that reach them. */
interface ModelRates {
  readonly table: WholeGpuTable;
  /** columnsAt gives the columns that reach the rate of a state of `table`. */
  readonly columnsAt: (state: number) => UsedColumn[];
  /** The grid behind the table, if the model has no minimum share. */
  readonly grid?: ModelGrid;
}

/** RatesGoal says over which amounts of GPUs a model's rates are found, and what is left out. */
interface RatesGoal {
  readonly grid: Grid;
  readonly rule: FillRule;
  readonly budget: number;
  /** The GPUs that are divided, by class. */
  readonly available: readonly number[];
}

/** modelRates finds a model's highest rates; it is undefined if it was stopped or there are too many pairs of states. */
function modelRates(
  search: IntegerSearch,
  set: ColumnSet,
  goal: RatesGoal,
  m: number,
): ModelRates | undefined {
  const [share] = minSharesOf(search.tables[m] as ModelTable);
  if (share !== undefined) return sharedRates(search, set, goal, m);
  const { grid, rule, budget, available } = goal;
  const model = modelGrid(
    search,
    grid,
    set,
    { rule, budget, price: search.master.modelPrices[m] as number },
    m,
  );
  if (model.stopped) return undefined;
  const table = rule.shared ? unitTable(model) : wholeGpuTable(model, available);
  return { grid: model, table, columnsAt: (state) => model.columnsAt(table.at[state] as number) };
}

/** sharedRates finds the highest rates of a model that must use a class (see `ShareTable`). */
function sharedRates(
  search: IntegerSearch,
  set: ColumnSet,
  { grid, rule, budget, available }: RatesGoal,
  m: number,
): ModelRates | undefined {
  const { master, tables, stop } = search;
  const [share] = minSharesOf(tables[m] as ModelTable) as [MinShare];
  const prices = sharePrices(master, m, share);
  const sets = columnsUsing(set, share.classIndex);
  const using = modelGrid(search, grid, sets.using, { rule, budget, price: prices.using }, m);
  if (using.stopped) return undefined;
  const others = modelGrid(search, grid, sets.others, { rule, budget, price: prices.others }, m);
  if (others.stopped) return undefined;
  const bounded = Number.isFinite(budget) && prices.all > 0;
  const both = new ShareTable(using, others, {
    share: share.share,
    gpuPrices: master.gpuPrices.map((price) => (bounded ? price / prices.all : 0)),
    budget: bounded ? budget / prices.all : Infinity,
    stop,
  });
  if (both.stopped) return undefined;
  const table = rule.shared ? both.table : atWholeGpus(grid, available, both.table);
  return { table, columnsAt: (state) => both.columnsAt(table.at[state] as number) };
}

/** KeptStates says which states a model's table keeps, and how GPUs fill. */
interface KeptStates {
  readonly rule: FillRule;
  readonly budget: number;
  /** The price of one request per second, which no column of the table undercuts. */
  readonly price: number;
}

/** modelGrid makes a model's table. Its losses are in the model's own requests per second. */
function modelGrid(
  search: IntegerSearch,
  grid: Grid,
  set: ColumnSet,
  { rule: { pool, priced }, budget, price: own }: KeptStates,
  m: number,
): ModelGrid {
  const { master, stop, tables, problem } = search;
  const bounded = Number.isFinite(budget) && own > 0;
  const gpuPrices = master.gpuPrices.map((price) => (bounded ? price / own : 0));
  const options = { pool, gpuPrices, budget: bounded ? budget / own : Infinity };
  const sequences = priced?.[m];
  if (sequences === undefined || !bounded) return new ModelGrid(grid, set, { ...options, stop });
  const pricing = new WholeGpuPricing(tables[m] as ModelTable, problem.planner, {
    gpuPrices,
    sequences,
    mostWorth: mostWorth(search, m, budget) / own,
    stop,
  });
  return new ModelGrid(grid, set, { ...options, stop, pricing });
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
