import {
  type ColumnSource,
  columnsWithin,
  LabelPricing,
  ListedColumns,
  roundSteps,
} from '../columns/index.js';
import { lpBounds, type MasterResult } from '../master/index.js';
import type { ModelTable } from '../tables/index.js';
import { better, type Candidate, isMaximised, PROVEN } from './candidates.js';
import { type IntegerSearch, isStopped, type SearchResult } from './search-types.js';

/** Sizes holds the one virtual size of each class, or undefined for a class that may still have any. */
type Sizes = readonly (number | undefined)[];

/**
 * uniformPlan finds the best plan in which all GPUs of a class have the same virtual size. It keeps the rule of one
 * size per server, and needs no MILP to do so. Sizes are fixed class by class, those of the best bound first; sizes
 * whose LP is no better than the best plan so far are left out, with all that they would lead to.
 * @param solve searches for plans under `virtualPer: gpu`
 * @returns undefined if no such plan was found
 */
export function uniformPlan(
  search: IntegerSearch,
  solve: (search: IntegerSearch) => SearchResult,
): Candidate | undefined {
  const { planner } = search.problem;
  const onGpus = { ...search.problem, planner: { ...planner, virtualPer: 'gpu' as const } };
  const free = { ...search, problem: onGpus };
  let best: Candidate | undefined;
  const fix = (parent: IntegerSearch, sizes: Sizes): void => {
    const k = sizes.indexOf(undefined);
    if (k < 0) {
      const found = solve(parent);
      if (found.status === 'found') {
        const { used, value, nodes } = found;
        best = better(search, best, { used, value, nodes }) as Candidate;
      }
      return;
    }
    const children = sizesOf(search, k).flatMap((size) => {
      const next = sizes.with(k, size);
      const child = withSizes(parent, next);
      return child === undefined ? [] : [{ child, next }];
    });
    children.sort((a, b) => byBound(search, a.child.master, b.child.master));
    for (const { child, next } of children)
      if (!isStopped(search) && mayBeBetter(search, child.master, best)) fix(child, next);
  };
  fix(
    free,
    search.classes.names.map(() => undefined),
  );
  return best;
}

/** The sizes of a class that some model may use; one that stands for all if there are none. */
function sizesOf({ tables }: IntegerSearch, k: number): number[] {
  const sizes = tables.flatMap(({ slots }) =>
    slots.flatMap(({ classIndex, virtual }) => (classIndex === k ? [virtual] : [])),
  );
  return sizes.length === 0 ? [1] : [...new Set(sizes)];
}

function byBound(search: IntegerSearch, a: MasterResult, b: MasterResult): number {
  return isMaximised(search) ? b.bound - a.bound : a.bound - b.bound;
}

function mayBeBetter(search: IntegerSearch, { bound }: MasterResult, best: Candidate | undefined): boolean {
  if (best === undefined) return true;
  return isMaximised(search) ? bound > best.value * (1 + PROVEN) : bound < best.value * (1 - PROVEN);
}

/** withSizes is the same search with columns of these sizes alone; undefined if these serve some model too little. */
function withSizes(search: IntegerSearch, sizes: Sizes): IntegerSearch | undefined {
  const { problem, classes, options } = search;
  const { objective } = problem.planner;
  const kept = search.tables.map(({ slots }) =>
    slots.map(({ classIndex, virtual }) => (sizes[classIndex] ?? virtual) === virtual),
  );
  const tables = search.tables.map((table, m) => onSlots(table, kept[m] as boolean[]));
  const sources = search.sources.map((source, m): ColumnSource => {
    const table = tables[m] as ModelTable;
    return source instanceof ListedColumns
      ? new ListedColumns(columnsWithin(source.set, table, kept[m] as boolean[]))
      : new LabelPricing(table, problem.planner, search.stop);
  });
  const start = search.master.columns.filter(({ model, parts }) =>
    parts.every(({ slot }) => kept[model]?.[slot] === true),
  );
  const made = roundSteps(sources);
  const masters = lpBounds(
    options.highs,
    { classes, tables, sources, objective },
    { start, stop: () => search.stop(made) },
  );
  const master = masters.at(-1) as MasterResult;
  const reach = (masters[0] as MasterResult).bound;
  if (isMaximised(search) ? reach <= 0 : reach < 1 - PROVEN) return undefined;
  return { ...search, tables, sources, master };
}

/** onSlots is the same table without the latencies of slots that are not kept. */
function onSlots(table: ModelTable, kept: readonly boolean[]): ModelTable {
  const batches = table.batches.length;
  return {
    ...table,
    latencies: table.latencies.map((one, at) => (kept[Math.floor(at / batches)] ? one : undefined)),
  };
}
