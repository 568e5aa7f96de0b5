import type { ColumnSource } from './column-source.js';
import type { Column } from './columns.js';
import type { SolveOutcome } from './highs.js';
import { columnKey, type MasterResult } from './master.js';
import type { PlanOptions } from './options.js';
import type { Phases } from './phases.js';
import { compareColumns } from './plan.js';
import { type PlanGoal, planModel, type UsedColumn, usedColumns, usedRps } from './plan-model.js';
import type { PooledProblem, SearchLimit } from './problem.js';
import type { ClassTable, ModelTable } from './tables.js';

/** What the search for whole numbers starts from. */
export interface IntegerSearch {
  readonly problem: PooledProblem;
  readonly classes: ClassTable;
  readonly tables: readonly ModelTable[];
  readonly sources: readonly ColumnSource[];
  readonly master: MasterResult;
  readonly options: PlanOptions;
  readonly phases: Phases;
}

export type SearchResult =
  | {
      readonly status: 'found';
      readonly used: readonly UsedColumn[];
      readonly value: number;
      readonly bound: number;
      readonly limit: SearchLimit | undefined;
      readonly nodes: number;
    }
  | { readonly status: 'none'; readonly limit: SearchLimit; readonly nodes: number }
  | { readonly status: 'infeasible'; readonly nodes: number };

const COLUMNS_PER_MODEL = 60;
const DEFAULT_WORK = 2000;
const PROVEN = 1e-6;

/** The plan over the columns cheapest at the LP's prices. */
export function searchPlan(search: IntegerSearch): SearchResult {
  const { problem, classes, tables, options, master } = search;
  const columns = bestColumns(search);
  const weights = problem.models.map(({ weight }) => weight);
  const goal: PlanGoal =
    problem.planner.objective === 'throughput'
      ? { kind: 'throughput', weights }
      : { kind: 'price', rps: problem.models.map((model) => model.rps ?? 0) };
  const plan = planModel(classes, tables, columns, problem.planner, goal);
  const gap = options.gap ?? 1e-3;
  const outcome: SolveOutcome = options.highs.solve(plan.model, {
    gap: gap / 4,
    maxNodes: options.work ?? DEFAULT_WORK,
    ...(options.timeLimitMs === undefined ? {} : { maxSeconds: options.timeLimitMs / 1000 }),
    ...(options.interrupted === undefined ? {} : { interrupted: options.interrupted }),
  });
  if (outcome.status !== 'optimal' && outcome.status !== 'feasible')
    return { status: 'none', limit: 'work', nodes: 0 };
  const used = usedColumns(plan, outcome.values);
  const value = planValue(search, used, outcome.objective);
  const proven =
    problem.planner.objective === 'throughput' ? master.bound / value - 1 : value / master.bound - 1;
  return {
    status: 'found',
    used,
    value,
    bound: master.bound,
    limit: proven <= PROVEN ? undefined : proven <= gap ? 'gap' : 'work',
    nodes: outcome.nodes,
  };
}

function planValue({ problem }: IntegerSearch, used: readonly UsedColumn[], priced: number): number {
  if (problem.planner.objective !== 'throughput') return priced;
  const rates = problem.models.map((_, m) =>
    used.filter(({ column }) => column.model === m).reduce((sum, one) => sum + usedRps(one), 0),
  );
  return Math.min(
    ...problem.models.flatMap(({ weight }, m) => (weight > 0 ? [(rates[m] as number) / weight] : [])),
  );
}

function bestColumns({ sources, master }: IntegerSearch): Column[] {
  const chosen = new Map<string, Column>();
  master.columns.forEach((column, c) => {
    if ((master.rps[c] as number) > 0) chosen.set(columnKey(column), column);
  });
  sources.forEach((source, m) => {
    const prices = { perGpu: master.gpuPrices, perUse: master.usePrices[m] as readonly number[] };
    for (const { column } of source.cheaperThan(Infinity, prices, COLUMNS_PER_MODEL))
      chosen.set(columnKey(column), column);
  });
  return [...chosen.values()].sort(compareColumns);
}
