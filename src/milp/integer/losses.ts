import { SLACK } from '../rounding.js';
import { isMaximised } from './candidates.js';
import type { IntegerSearch } from './search-types.js';

/** The first budget that is tried, as a part of the bound. Each further budget is at least twice the last. */
const FIRST_BUDGET = 0.002;

/** LAST_BUDGET is the part of the bound past which a budget is infinite, and every state is kept. */
export const LAST_BUDGET = 0.3;

/** If the prices prove nothing, no state may be left out. */
export function startBudget(scale: number): number {
  return scale > 0 ? FIRST_BUDGET * scale : Infinity;
}

/** budgetFor is the budget that holds every plan better than this value, with room for rounding. */
export function budgetFor(search: IntegerSearch, value: number): number {
  const scale = lossScale(search);
  return scale > 0 ? excessOf(search, value) + SLACK * roundedFrom(search) : Infinity;
}

/**
 * lossScale is the unit of budgets: the worth of all GPUs at the LP's prices or, for a price, the bound that these
 * prove. It is 0 if they prove nothing.
 */
export function lossScale(search: IntegerSearch): number {
  if (isMaximised(search)) return carriedOf(search) > 0 ? worthOfAll(search) : 0;
  return ratesWorth(search) - scarcityOf(search);
}

/** roundedFrom is the largest of the figures whose difference an excess is. */
function roundedFrom(search: IntegerSearch): number {
  return isMaximised(search) ? worthOfAll(search) : ratesWorth(search);
}

/**
 * excessOf is the distance of a value from the bound that the prices prove, in the unit of losses. The losses of a plan
 * with that value cannot sum to more.
 */
export function excessOf(search: IntegerSearch, value: number): number {
  if (isMaximised(search)) return worthOfAll(search) - value * carriedOf(search);
  return value + scarcityOf(search) - ratesWorth(search);
}

/** valueWithin is the value of plans whose excess equals a budget. */
export function valueWithin(search: IntegerSearch, budget: number): number {
  if (isMaximised(search)) return (worthOfAll(search) - budget) / carriedOf(search);
  return budget + ratesWorth(search) - scarcityOf(search);
}

/** boundByPrices is the bound that the prices prove, which no plan beats. */
export function boundByPrices(search: IntegerSearch): number {
  return valueWithin(search, 0);
}

function worthOfAll({ master, classes }: IntegerSearch): number {
  return classes.available.reduce((sum, n, k) => sum + n * (master.gpuPrices[k] as number), 0);
}

/** scarcityOf is the worth of all GPUs above their own price. */
function scarcityOf({ master, classes }: IntegerSearch): number {
  return classes.available.reduce(
    (sum, n, k) => sum + n * ((master.gpuPrices[k] as number) - (classes.unitCost[k] as number)),
    0,
  );
}

/** ratesWorth is the price of the required rates. */
function ratesWorth({ tables, master }: IntegerSearch): number {
  return tables.reduce((sum, { rps = 0 }, m) => sum + rps * (master.modelPrices[m] as number), 0);
}

/** carriedOf is the price of one unit of least throughput/weight. */
function carriedOf({ master, tables }: IntegerSearch): number {
  return tables.reduce(
    (sum, { weight }, m) => (weight > 0 ? sum + weight * (master.modelPrices[m] as number) : sum),
    0,
  );
}

/**
 * mostWorth is the most that the GPUs of a model can be worth in a plan within the budget: for throughput, what the
 * others leave that serve as much as such a plan does; for a price, what its rate is worth and all of the budget.
 */
export function mostWorth(search: IntegerSearch, m: number, budget: number): number {
  const { tables, master } = search;
  if (!isMaximised(search))
    return (tables[m]?.rps ?? 0) * (master.modelPrices[m] as number) + budget + SLACK * ratesWorth(search);
  const least = valueWithin(search, budget);
  const others = tables.reduce(
    (sum, { weight }, o) => (o === m ? sum : sum + weight * least * (master.modelPrices[o] as number)),
    0,
  );
  return worthOfAll(search) * (1 + SLACK) - others;
}
