import { integerRoot, largestOf } from '../../../collections/index.js';
import type { PlanOptions } from '../../options.js';
import { type UsedColumn, usedRps } from '../../plan/index.js';
import type { ModelTable, Slot } from '../../tables/index.js';
import { isMaximised } from '../candidates.js';
import { gridOf } from '../grid/index.js';
import { cappedBy, gpusUsed, priceOf, roundedUp } from '../rounded/index.js';
import type { IntegerSearch } from '../search-types.js';
import { cheapSets } from './grid-columns.js';
import { type Bulk, type GridPlan, withBudget } from './grid-search.js';
import type { FillRule } from './model-rates.js';

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
  const left = integerRoot(states, classes.names.length);
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
