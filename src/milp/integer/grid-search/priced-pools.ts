import { LabelPricing } from '../../columns/index.js';
import { stopAfter } from '../../work.js';
import { gapOf, isMaximised } from '../candidates.js';
import { gridOf } from '../grid/index.js';
import { budgetFor, excessOf, lossScale, startBudget, valueWithin } from '../losses.js';
import { type SlotSequence, slotSequences } from '../pricing/index.js';
import type { IntegerSearch } from '../search-types.js';
import type { GridColumns } from './grid-columns.js';
import { type GridPlan, withBudget } from './grid-search.js';
import type { FillRule } from './model-rates.js';

/** Each further budget is this many times the last. */
const GROWTH = 4;

/** No budget is larger than this many times the bound; a small rate may cost that much more in whole GPUs. */
const MOST_BUDGET = 16;

/** The search ends after this many steps (some seconds). The budget must hold the losses of all models. */
const MOST_STEPS = { oneModel: 1e8, severalModels: 3e8 };

/** PricedPools is what `pricedPools` found. */
export interface PricedPools {
  /** The best plan, if it is better than the known one. */
  readonly plan: GridPlan | undefined;
  /** No plan is better than this. */
  readonly bound: number;
}

/** PricedPoolsGoal says what `pricedPools` is to find. */
interface PricedPoolsGoal {
  /** The numbers of GPUs by class that are worth considering. */
  readonly available: readonly number[];
  /** The value of a known plan: only better plans are sought. */
  readonly known: number | undefined;
  /** The gap that is good enough. */
  readonly gap: number;
}

/**
 * pricedPools finds the best plan by tables where columns are too many to list, under the rule that each pool fills
 * whole GPUs. The tables ask for the best pipeline on each number of GPUs (`WholeGpuPricing`), so they are exact within
 * their budget. Budgets grow until the best plan lies within one, which proves it, or until the work is done. Each
 * budget in which no plan lies proves a bound.
 * @returns undefined if nothing was proved
 */
export function pricedPools(
  search: IntegerSearch,
  { sets }: GridColumns,
  { available, known, gap }: PricedPoolsGoal,
): PricedPools | undefined {
  const scale = lossScale(search);
  const grid = gridOf(available, 1, sets.length);
  if (!(scale > 0) || grid === undefined || !isPriced(search)) return undefined;
  const counted = stopAfter(sets.length === 1 ? MOST_STEPS.oneModel : MOST_STEPS.severalModels, () => false);
  const bounded = { ...search, stop: (steps: number) => search.stop(steps) || counted(steps) };
  const bulk = { used: [], rps: sets.map(() => 0), available };
  const largest = Math.min(MOST_BUDGET * scale, known === undefined ? Infinity : budgetFor(search, known));
  const priced = sequencesOf(search, largest);
  if (priced === undefined) return undefined;
  const rule: FillRule = { pool: true, shared: false, priced };
  let plan: GridPlan | undefined;
  let value = known;
  let bound: number | undefined;
  for (let budget = startBudget(scale); ; budget *= GROWTH) {
    const most = value === undefined ? MOST_BUDGET * scale : budgetFor(search, value);
    const tried = Math.min(budget, most, MOST_BUDGET * scale);
    const found = withBudget(bounded, sets, { grid, rule, budget: tried, bulk });
    if (found === undefined) break;
    if (found.used.length > 0 && isBetter(search, found.value, value)) {
      plan = found;
      value = found.value;
    }
    if (value !== undefined && excessOf(search, value) <= tried) return { plan, bound: value };
    bound = valueWithin(search, tried);
    if (tried < Math.min(budget, most) || tried === MOST_BUDGET * scale) break;
    if (value !== undefined && gapOf(search, value, bound) <= gap) break;
  }
  return bound === undefined ? undefined : { plan, bound };
}

/** sequencesOf lists the sequences of slots of every model that is priced; it is undefined if there are too many. */
function sequencesOf(
  { tables, sources, master, problem }: IntegerSearch,
  budget: number,
): FillRule['priced'] | undefined {
  const all: (readonly SlotSequence[] | undefined)[] = [];
  for (const [m, table] of tables.entries()) {
    const own = master.modelPrices[m] as number;
    if (!(sources[m] instanceof LabelPricing) || !(own > 0)) {
      all.push(undefined);
      continue;
    }
    const gpuPrices = master.gpuPrices.map((price) => price / own);
    const sequences = slotSequences(table, problem.planner, { gpuPrices, budget: budget / own });
    if (sequences === undefined) return undefined;
    all.push(sequences);
  }
  return all;
}

function isBetter(search: IntegerSearch, value: number, known: number | undefined): boolean {
  if (known === undefined) return true;
  return isMaximised(search) ? value > known : value < known;
}

/** isPriced says whether the LP's prices bound every model that is to be served, and some model's columns are priced. */
function isPriced({ tables, sources, master }: IntegerSearch): boolean {
  const isBounded = tables.every(
    ({ weight, rps = 0 }, m) => (weight === 0 && rps === 0) || (master.modelPrices[m] as number) > 0,
  );
  return isBounded && sources.some((source) => source instanceof LabelPricing);
}
