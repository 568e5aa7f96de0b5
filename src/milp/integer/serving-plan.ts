import { type Column, roundSteps } from '../columns/index.js';
import { type MasterGoal, solveMaster } from '../master/index.js';
import type { UsedColumn } from '../plan/index.js';
import type { ModelTable } from '../tables/index.js';
import { meetsRates, PROVEN } from './candidates.js';
import { isAdditive } from './grid-search/index.js';
import { withoutSpare } from './rounded/index.js';
import type { IntegerSearch, SearchResult } from './search-types.js';

/**
 * servingPlan looks for any plan that meets the rates, whatever its price. Near what a cluster can serve, hardly any
 * plan does, and a search for the least price may see none. So the largest part of all rates at once is sought, until
 * all of them are met, and then what the models' own weights give, as a plan may be asked for what another one served.
 * The plan gives back GPUs that the rates do not need.
 * @param maximise searches for the highest least throughput/weight
 * @returns undefined if no such plan was found
 */
export function servingPlan(
  search: IntegerSearch,
  maximise: (search: IntegerSearch) => SearchResult,
): readonly UsedColumn[] | undefined {
  const byRates = servingSearch(search, ({ rps = 0 }) => rps, search.master.columns);
  // A plan that serves all of the rates has this gap to the bound.
  const gap = Math.max(0, (byRates.master.bound - 1) * (1 - PROVEN));
  const used =
    usedIfServing(search, maximise({ ...byRates, options: { ...byRates.options, gap } })) ??
    usedIfServing(search, maximise(servingSearch(search, ({ weight }) => weight, [])));
  return used === undefined || !isAdditive(search) ? used : withoutSpare(search, used);
}

function usedIfServing(search: IntegerSearch, found: SearchResult): readonly UsedColumn[] | undefined {
  return found.status === 'found' && meetsRates(search, found.used, PROVEN) ? found.used : undefined;
}

/** The search for the highest least throughput/weight on the same GPUs. */
function servingSearch(
  search: IntegerSearch,
  weightOf: (table: ModelTable) => number,
  start: readonly Column[],
): IntegerSearch {
  const { problem, sources } = search;
  const { onProgress: _, ...options } = search.options;
  const tables = search.tables.map((table) => ({ ...table, weight: weightOf(table) }));
  const classes = { ...search.classes, unitCost: search.classes.unitCost.map(() => 0) };
  const goal: MasterGoal = { kind: 'throughput', weights: tables.map(({ weight }) => weight) };
  const made = roundSteps(sources);
  const master = solveMaster(
    options.highs,
    { classes, tables, sources, goal },
    { start, stop: () => search.stop(made) },
  );
  const planner = { ...problem.planner, objective: 'throughput' as const };
  return { ...search, problem: { ...problem, planner }, tables, classes, master, options };
}
