import type { LabelPricing } from '../../columns/index.js';
import { type ColumnSet, columnSetOf, ListedColumns, type PricedColumn } from '../../columns/index.js';
import { columnKey } from '../../master/index.js';
import type { ModelTable } from '../../tables/index.js';
import { type IntegerSearch, isStopped } from '../search-types.js';

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

/** cheapSets gives the cheapest columns of every model. */
export function cheapSets(search: IntegerSearch): ColumnSet[] {
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
