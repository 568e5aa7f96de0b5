import { milpWork, type SolveOutcome } from '../../../lp/index.js';
import type { Column } from '../../columns/index.js';
import { ListedColumns } from '../../columns/index.js';
import { columnKey } from '../../master/index.js';
import { DEFAULT_GAP } from '../../options.js';
import { compareColumns, type PlanGoal, planModel, settledShares, usedColumns } from '../../plan/index.js';
import { DEFAULT_WORK } from '../../work.js';
import {
  better,
  type Candidate,
  consistent,
  gapOf,
  isMaximised,
  meetsRates,
  PROVEN,
  planValue,
  SOLVER_TOLERANCE,
  type Tried,
} from '../candidates.js';
import { type IntegerSearch, isStopped, timeLeft } from '../search-types.js';

/** MILPs over these numbers of columns per model are solved in turn, as long as each ends within its work. */
const COLUMNS_PER_MODEL = [60, 240, 960];
/**
 * A MILP has at most this many columns in all: the first LP of a larger one takes longer than its nodes are worth.
 */
const MOST_COLUMNS = 12_000;
const MOST_INTEGERS_TIMES_NODES = 100_000;

/**
 * milpPlan solves MILPs over the LP's own columns and the 60, 240 and then 960 per model that are cheapest at its
 * prices (fewer, if those of all models would be more than 12,000). It ends once the best plan is within the gap of
 * `proven`, a MILP needs more than its work, or the work or time is over. Only a MILP over all columns proves a bound.
 * @param proven a bound that holds for all plans
 * @returns the best plan; `infeasible` if a MILP over all columns has no plan; undefined if none was found
 */
export function milpPlan(search: IntegerSearch, proven: number): Tried {
  const { options } = search;
  const gap = options.gap ?? DEFAULT_GAP;
  let found: Tried;
  let work = options.work ?? Infinity;
  const most = Math.max(1, Math.floor(MOST_COLUMNS / search.tables.length));
  for (const count of COLUMNS_PER_MODEL) {
    if (isStopped(search) || work < 1) break;
    const columns = bestColumns(search, Math.min(count, most));
    const wider = milpOver(search, columns, work);
    found = better(search, found, wider);
    if (columns.all || wider === undefined || wider === 'infeasible' || !wider.ended || count >= most) break;
    work -= wider.nodes;
    if (gapOf(search, (found as Candidate).value, proven) <= gap) break;
  }
  return found;
}

type Solved = Candidate & { readonly ended: boolean };

/**
 * If the solver's tolerance left a plan short of its rates, the MILP is solved once more with rates multiplied by this
 * factor.
 */
const MORE = 1 + 10 * SOLVER_TOLERANCE;

/**
 * @returns `ended` if the work was enough
 */
function milpOver(
  search: IntegerSearch,
  chosen: { columns: Column[]; all: boolean },
  work: number,
): Solved | 'infeasible' | undefined {
  const goal = goalOf(search);
  const found = solved(search, chosen, goal, work);
  if (found === undefined || found === 'infeasible') return found;
  if (goal.kind === 'throughput' || meetsRates(search, found.used, PROVEN)) return found;
  const left = Math.max(1, work - found.nodes);
  const more = solved(search, chosen, { ...goal, rps: goal.rps.map((rps) => rps * MORE) }, left);
  if (more === undefined || more === 'infeasible' || !meetsRates(search, more.used, PROVEN)) return undefined;
  const { bound: _, tolerance: __, ...plan } = more;
  return { ...plan, nodes: found.nodes + more.nodes };
}

function solved(
  search: IntegerSearch,
  { columns, all }: { columns: Column[]; all: boolean },
  goal: PlanGoal,
  work: number,
): Solved | 'infeasible' | undefined {
  const { problem, classes, tables, options } = search;
  const plan = planModel({ classes, tables }, columns, { planner: problem.planner, goal });
  const outcome: SolveOutcome = options.highs.solve(plan.model, {
    gap: (options.gap ?? DEFAULT_GAP) / 4,
    ...milpWork(Number.isFinite(work) ? work : defaultNodes(plan.model.integer.filter(Boolean).length)),
    ...timeLeft(search),
    ...(options.interrupted === undefined ? {} : { interrupted: options.interrupted }),
    ...progressOf(search, plan.scale.value),
  });
  const isProof = all && plan.isProof;
  if (outcome.status === 'infeasible' && isProof) return 'infeasible';
  if (outcome.status !== 'optimal' && outcome.status !== 'feasible') return undefined;
  const used = settledShares(usedColumns(plan, outcome.values, tables), tables);
  const value = planValue(search, used, plan.priceOf(outcome.values));
  const proved = { used, value, nodes: outcome.nodes, ended: outcome.status === 'optimal' };
  if (!isProof || outcome.bound === undefined) return proved;
  const bound = consistent(search, {
    bound: outcome.bound * plan.scale.value,
    value,
    tolerance: SOLVER_TOLERANCE,
  });
  return { ...proved, bound, tolerance: SOLVER_TOLERANCE };
}

/** defaultNodes gives a large MILP fewer nodes, because each takes longer and finds less. */
function defaultNodes(integers: number): number {
  return Math.max(
    MOST_INTEGERS_TIMES_NODES / DEFAULT_WORK,
    Math.min(DEFAULT_WORK, Math.floor(MOST_INTEGERS_TIMES_NODES / Math.max(1, integers))),
  );
}

/** A solver reports the bound over its own columns. The bound over all plans is the LP's. */
function progressOf(
  { options, master }: IntegerSearch,
  unit: number,
): { onProgress?: (value: number) => void } {
  const { onProgress } = options;
  if (onProgress === undefined) return {};
  return { onProgress: (value) => onProgress({ phase: 'search', value: value * unit, bound: master.bound }) };
}

/** goalOf is the goal of a MILP over columns. */
export function goalOf(search: IntegerSearch): PlanGoal {
  return isMaximised(search)
    ? { kind: 'throughput', weights: search.tables.map(({ weight }) => weight), most: search.master.bound }
    : { kind: 'price', rps: search.tables.map(({ rps = 0 }) => rps) };
}

/** bestColumns gives the LP's own columns and up to `count` per model that are cheapest at its prices. */
export function bestColumns(
  { sources, master }: IntegerSearch,
  count: number,
): { columns: Column[]; all: boolean } {
  const chosen = new Map<string, Column>();
  master.columns.forEach((column, c) => {
    if ((master.rps[c] as number) > 0) chosen.set(columnKey(column), column);
  });
  sources.forEach((source, m) => {
    const prices = { perGpu: master.gpuPrices, perUse: master.usePrices[m] as readonly number[] };
    for (const { column } of source.cheapestOf(prices, count)) chosen.set(columnKey(column), column);
  });
  // Priced columns are never known to be complete.
  const all = sources.every((source) => source instanceof ListedColumns && source.set.count <= count);
  return { columns: [...chosen.values()].sort(compareColumns), all };
}
