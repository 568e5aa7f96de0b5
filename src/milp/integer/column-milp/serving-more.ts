import { largestOf } from '../../../collections/index.js';
import { milpWork } from '../../../lp/index.js';
import {
  compareColumns,
  planModel,
  settledShares,
  type UsedColumn,
  usedColumns,
  usedRps,
} from '../../plan/index.js';
import { DEFAULT_WORK } from '../../work.js';
import { type Candidate, isMaximised, PROVEN, planValue } from '../candidates.js';
import { type IntegerSearch, isStopped, timeLeft } from '../search-types.js';
import { bestColumns, goalOf } from './column-milp.js';

/** The MILP for the sum of rates has this many columns of each model beside those of the plan. */
const COLUMNS_PER_MODEL = 120;

/** The search ends at this gap: the sum is the second objective, and need not be proved. */
const GAP = 0.01;

/**
 * servingMore looks, by a MILP, for a plan that serves more in sum (in requests per second) without a lower least
 * throughput/weight. It gives the plan itself if it finds none, or if the objective is a price.
 */
export function servingMore(search: IntegerSearch, found: Candidate): Candidate {
  const { problem, classes, tables, options, scale } = search;
  if (!isMaximised(search) || tables.length === 1 || isStopped(search)) return found;
  const columns = [
    ...new Map(
      [...found.used.map(({ column }) => column), ...bestColumns(search, COLUMNS_PER_MODEL).columns].map(
        (column) => [JSON.stringify([column.model, column.parts]), column],
      ),
    ).values(),
  ].sort(compareColumns);
  const plan = planModel({ classes, tables }, columns, { planner: problem.planner, goal: goalOf(search) });
  const start = plan.solutionOf(found.used);
  plan.model.lower[plan.least as number] = start[plan.least as number] as number;
  const worth = columns.map(({ model }) => (plan.scale.rps[model] as number) * (scale.rps[model] as number));
  const most = largestOf(worth);
  plan.model.addObjective(
    'maximize',
    plan.throughput.map((x, c) => [x, (worth[c] as number) / most]),
  );
  const outcome = options.highs.solve(plan.model, {
    gap: GAP,
    start,
    ...milpWork(Math.min(options.work ?? DEFAULT_WORK, DEFAULT_WORK / 10)),
    ...timeLeft(search),
    ...(options.interrupted === undefined ? {} : { interrupted: options.interrupted }),
  });
  if (outcome.status !== 'optimal' && outcome.status !== 'feasible') return found;
  const used = settledShares(usedColumns(plan, outcome.values, tables), tables);
  const value = planValue(search, used, 0);
  if (value < found.value * (1 - PROVEN) || sumOf(search, used) <= sumOf(search, found.used)) return found;
  return { ...found, used, value, nodes: found.nodes + outcome.nodes };
}

function sumOf({ scale }: IntegerSearch, used: readonly UsedColumn[]): number {
  return used.reduce((sum, one) => sum + usedRps(one) * (scale.rps[one.column.model] as number), 0);
}
