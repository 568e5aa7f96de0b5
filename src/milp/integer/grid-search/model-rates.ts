import { type ColumnSet, columnsUsing } from '../../columns/index.js';
import type { UsedColumn } from '../../plan/index.js';
import type { ModelTable } from '../../tables/index.js';
import { type MinShare, minSharesOf, ShareTable, sharePrices } from '../division/index.js';
import {
  atWholeGpus,
  type Grid,
  ModelGrid,
  unitTable,
  type WholeGpuTable,
  wholeGpuTable,
} from '../grid/index.js';
import { mostWorth } from '../losses.js';
import { type SlotSequence, WholeGpuPricing } from '../pricing/index.js';
import type { IntegerSearch } from '../search-types.js';

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

/** ModelRates holds the highest rates of a model, and the columns that reach them. */
export interface ModelRates {
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
export function modelRates(
  search: IntegerSearch,
  [m, set]: readonly [model: number, columns: ColumnSet],
  goal: RatesGoal,
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
