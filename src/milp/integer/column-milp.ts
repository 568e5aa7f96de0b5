import type { Column } from '../columns/index.js';
import { ListedColumns } from '../columns/index.js';
import type { SolveOutcome } from '../lp/index.js';
import { columnKey } from '../lp/index.js';
import { DEFAULT_GAP } from '../options.js';
import { compareColumns, type PlanGoal, planModel, usedColumns } from '../plan/index.js';
import { DEFAULT_WORK } from '../work.js';
import {
  better,
  type Candidate,
  consistent,
  gapOf,
  isMaximised,
  planValue,
  SOLVER_TOLERANCE,
} from './candidates.js';
import { type IntegerSearch, isStopped, timeLeft } from './search-types.js';

/** Columns by model of the MILPs, one after another while they end before their work does. */
const COLUMNS_PER_MODEL = [60, 240, 960];
const MOST_INTEGERS_TIMES_NODES = 100_000;

/** A MILP over the columns cheapest at the LP's prices; with all of them where they are few, and then its bound counts. */
export function milpPlan(search: IntegerSearch, proven: number): Candidate | undefined {
  const { options } = search;
  const gap = options.gap ?? DEFAULT_GAP;
  let found: Candidate | undefined;
  let work = options.work ?? Infinity;
  for (const count of COLUMNS_PER_MODEL) {
    if (isStopped(search) || work < 1) break;
    const columns = bestColumns(search, count);
    const wider = milpOver(search, columns, work);
    found = better(search, found, wider);
    work -= wider?.nodes ?? 0;
    if (columns.all || wider === undefined || !wider.ended) break;
    if (gapOf(search, (found as Candidate).value, proven) <= gap) break;
  }
  return found;
}

/** @returns `ended` where the work sufficed */
function milpOver(
  search: IntegerSearch,
  { columns, all }: { columns: Column[]; all: boolean },
  work: number,
): (Candidate & { ended: boolean }) | undefined {
  const { problem, classes, tables, options } = search;
  const plan = planModel(classes, tables, columns, problem.planner, goalOf(search));
  const outcome: SolveOutcome = options.highs.solve(plan.model, {
    gap: (options.gap ?? DEFAULT_GAP) / 4,
    maxNodes: Number.isFinite(work) ? work : defaultNodes(plan.model.integer.filter(Boolean).length),
    ...timeLeft(search),
    ...(options.interrupted === undefined ? {} : { interrupted: options.interrupted }),
    ...progressOf(search),
  });
  if (outcome.status !== 'optimal' && outcome.status !== 'feasible') return undefined;
  const used = usedColumns(plan, outcome.values, tables);
  const value = planValue(search, used, outcome.objective);
  return {
    used,
    value,
    nodes: outcome.nodes,
    ended: outcome.status === 'optimal',
    ...(all
      ? { bound: consistent(search, outcome.bound, value, SOLVER_TOLERANCE), tolerance: SOLVER_TOLERANCE }
      : {}),
  };
}

/** A node of a large MILP takes longer and finds less. */
function defaultNodes(integers: number): number {
  return Math.max(
    MOST_INTEGERS_TIMES_NODES / DEFAULT_WORK,
    Math.min(DEFAULT_WORK, Math.floor(MOST_INTEGERS_TIMES_NODES / Math.max(1, integers))),
  );
}

/** A solver tells its own bound, over its own columns; ours is the LP's. */
function progressOf({ options, master }: IntegerSearch): { onProgress?: (value: number) => void } {
  const { onProgress } = options;
  if (onProgress === undefined) return {};
  return { onProgress: (value) => onProgress({ phase: 'search', value, bound: master.bound }) };
}

function goalOf(search: IntegerSearch): PlanGoal {
  return isMaximised(search)
    ? { kind: 'throughput', weights: search.tables.map(({ weight }) => weight) }
    : { kind: 'price', rps: search.tables.map(({ rps = 0 }) => rps) };
}

function bestColumns({ sources, master }: IntegerSearch, count: number): { columns: Column[]; all: boolean } {
  const chosen = new Map<string, Column>();
  master.columns.forEach((column, c) => {
    if ((master.rps[c] as number) > 0) chosen.set(columnKey(column), column);
  });
  sources.forEach((source, m) => {
    const prices = { perGpu: master.gpuPrices, perUse: master.usePrices[m] as readonly number[] };
    for (const { column } of source.cheaperThan(Infinity, prices, count))
      chosen.set(columnKey(column), column);
  });
  // What is priced is never known to be all there is.
  const all = sources.every((source) => source instanceof ListedColumns && source.set.count <= count);
  return { columns: [...chosen.values()].sort(compareColumns), all };
}
