import { randomProblem } from '../../../bench/refute/pooled/random-problem.js';
import type { HighsEngine } from '../../../src/lp/index.js';
import { type ColumnSource, ListedColumns } from '../../../src/milp/columns/column-source.js';
import { type ColumnSet, enumerateColumns } from '../../../src/milp/columns/columns.js';
import { LabelPricing } from '../../../src/milp/columns/label-pricing.js';
import type { PlanOptions, PooledProblem } from '../../../src/milp/index.js';
import type { IntegerSearch } from '../../../src/milp/integer/search-types.js';
import { solveMaster } from '../../../src/milp/master/master.js';
import type { MasterGoal } from '../../../src/milp/master/master-rows.js';
import { Phases } from '../../../src/milp/phases.js';
import { classesOf, type ModelTable, modelTable } from '../../../src/milp/tables/tables.js';
import type { ModelByHand } from '../by-hand.js';

/** A GPU of A serves 1000 requests per second, and one of B 400. */
export const TWO_CLASSES: ModelByHand = {
  name: 'm',
  sloMs: 9,
  latencyUs: { A: { 1: { 1: [1000] } }, B: { 1: { 1: [2500] } } },
};

/** manyColumns is a problem of one model with some thousands of columns, and its table. */
export function manyColumns(): { problem: PooledProblem; table: ModelTable } {
  const shape = { classes: 2, blocks: 8, batches: 3, virtual: [1, 2], models: 1, mostGpus: 2 };
  const problem = randomProblem(1, shape);
  const models = problem.models.map((model) => ({ ...model, sloUs: model.sloUs * 4 }));
  return { problem, table: modelTable({ ...problem, models }, 0) };
}

/** searchFor solves the LP of a problem, in the units of its spec, for a search to start from. Columns are listed or priced. */
export function searchFor(
  problem: PooledProblem,
  highs: HighsEngine,
  options: Partial<PlanOptions> = {},
  how: 'listed' | 'priced' = 'listed',
): IntegerSearch {
  const classes = classesOf(problem);
  const tables = problem.models.map((_, m) => modelTable(problem, m));
  const sources = tables.map(
    (table): ColumnSource =>
      how === 'priced'
        ? new LabelPricing(table, problem.planner)
        : new ListedColumns(enumerateColumns(table, problem.planner, { limit: 1e5 }) as ColumnSet),
  );
  const goal: MasterGoal =
    problem.planner.objective === 'throughput'
      ? { kind: 'throughput', weights: tables.map(({ weight }) => weight) }
      : { kind: 'price', rps: tables.map(({ rps = 0 }) => rps) };
  const free = { ...classes, unitCost: classes.unitCost.map(() => 0) };
  const reach: MasterGoal = { kind: 'throughput', weights: tables.map(({ rps = 1 }) => rps), enough: 1 };
  const start =
    goal.kind === 'price' ? solveMaster(highs, { classes: free, tables, sources, goal: reach }).columns : [];
  return {
    problem,
    scale: { rps: tables.map(() => 1), value: 1 },
    classes,
    tables,
    sources,
    master: solveMaster(highs, { classes, tables, sources, goal }, { start }),
    options: { highs, ...options },
    phases: new Phases(),
    stop: () => false,
  };
}
