import { fault, InputError } from '../../formats/index.js';
import { milpWork } from '../../lp/index.js';
import { solveLiteral } from '../literal/index.js';
import { columnKey } from '../master/index.js';
import { DEFAULT_GAP } from '../options.js';
import { fitsServers, type UsedColumn, usedRps } from '../plan/index.js';
import { DEFAULT_WORK } from '../work.js';
import {
  better,
  type Candidate,
  consistent,
  finish,
  gapOf,
  isMaximised,
  meetsRates,
  PROVEN,
  planValue,
  SOLVER_TOLERANCE,
  type Tried,
  tighter,
} from './candidates.js';
import { milpPlan, servingMore } from './column-milp/index.js';
import { minSharesOf } from './division/index.js';
import {
  bulkPlan,
  type FillRule,
  type GridColumns,
  type GridPlan,
  gridColumns,
  gridPlan,
  isAdditive,
  pricedPools,
} from './grid-search/index.js';
import { boundByPrices } from './losses.js';
import { exactPositions } from './positions/index.js';
import { wholeGpuBound } from './price-bound.js';
import { priceByRule, priceOf, roundedWithRoom, usefulGpus } from './rounded/index.js';
import { type IntegerSearch, type SearchResult, timeLeft } from './search-types.js';
import { servingPlan } from './serving-plan.js';
import { uniformPlan } from './uniform-sizes.js';

/** Below this gap per model, a large cluster's plan is not worth a MILP. */
const GOOD_ENOUGH = 2e-3;

const POOLS: FillRule = { pool: true, shared: false };
const FRACTIONS: FillRule = { pool: false, shared: false };
const SHARED: FillRule = { pool: false, shared: true };

/** If fractions do not fit side by side, these parts of a GPU of each class are left idle, one after another. */
const LESS = [1 / 12, 1 / 6, 1 / 4, 1 / 2, 1];

/**
 * searchPlan finds whole numbers of GPUs for the LP's columns, and a bound. For a price whose gap is still too large,
 * it also bounds the cost of whole GPUs, and searches once more with the columns that this bound found.
 * @throws InputError for the literal formulation under `virtualPer: server`; Error if a plan and a bound contradict
 *   each other, which is a bug in the planner
 */
export function searchPlan(search: IntegerSearch): SearchResult {
  const { master, options, phases } = search;
  const gap = options.gap ?? DEFAULT_GAP;
  const first = searchColumns(search, gap);
  if (isMaximised(search) || options.formulation === 'literal') return first;
  if (first.status !== 'found' || gapOf(search, first.value, first.bound) <= gap) return first;
  const { bound, columns } = phases.time('whole GPUs', () => wholeGpuBound(search, first.value));
  const tight = atLeast(search, first, bound, gap);
  const known = new Set(master.columns.map(columnKey));
  const fresh = columns.filter((column) => !known.has(columnKey(column)));
  if (gapOf(search, tight.value, tight.bound) <= gap || fresh.length === 0) return tight;
  const richer = { ...master, columns: [...master.columns, ...fresh] };
  const rps = [...master.rps, ...fresh.map(() => 0)];
  const second = searchColumns({ ...search, master: { ...richer, rps } }, gap);
  if (second.status !== 'found' || second.value >= tight.value) return tight;
  return atLeast(search, second, tight.bound, gap);
}

/** anyPlan looks for a plan that meets the rates where searches for the least price found none. */
function anyPlan(search: IntegerSearch): Candidate | undefined {
  const used = search.phases.time('any plan', () => servingPlan(search, searchPlan));
  return used === undefined ? undefined : { used, value: priceByRule(search, used), nodes: 0 };
}

type Found = Extract<SearchResult, { status: 'found' }>;

/** atLeast is a result with a further bound that was proved for it. */
function atLeast(
  search: IntegerSearch,
  { used, value, nodes, ...found }: Found,
  bound: number,
  gap: number,
): Found {
  const proved = Math.max(found.bound, bound);
  return finish(
    search,
    { used, value, nodes },
    { proven: consistent(search, { bound: proved, value }), gap },
  ) as Found;
}

/**
 * searchColumns finds whole numbers by tables over amounts of GPUs if the rules allow them (exact), and by a MILP over
 * the best columns otherwise. For `position` the tables give a plan from below (whole GPUs per pool also fill
 * positions) and a bound from above (fractions of GPUs per class), and the range between them is searched.
 */
function searchColumns(search: IntegerSearch, gap: number): SearchResult {
  const { problem, options } = search;
  const rule = problem.planner.wholeGpusPer;
  if (options.formulation === 'literal') return literalPlan(search, gap);
  const columns = search.phases.time('varied columns', () => gridColumns(search));
  if (!isAdditive(search)) return constrained(search, columns, gap);
  const useful = usefulGpus(search);
  if (rule === 'class') return shared(search, columns, useful, gap);
  const pools = search.phases.time('pools', () =>
    gridPlan(search, columns.sets, { rule: POOLS, available: useful }),
  );
  if (rule === 'pool') return byPools(search, columns, { pools, useful }, gap);
  return positions(search, columns, pools, useful, gap);
}

/**
 * shared plans under the rule that the GPUs of all models and sizes add up to whole ones. Fractions that add up may
 * still not fit on GPUs side by side; then a little less of each class is planned.
 */
function shared(
  search: IntegerSearch,
  columns: GridColumns,
  useful: readonly number[],
  gap: number,
): SearchResult {
  const { problem, tables, phases, master } = search;
  const solve = (available: readonly number[]) =>
    phases.time('fractions', () => gridPlan(search, columns.sets, { rule: SHARED, available }));
  const best = solve(useful);
  if (best === undefined) return byWholeGpus(search, columns, useful, gap);
  if (best.used.length === 0 || fitsServers(problem, tables, best.used))
    return exactly(search, columns, best, gap);
  for (const part of LESS) {
    const plan = isMaximised(search) ? solve(useful.map((n) => Math.max(0, n - part))) : undefined;
    if (plan === undefined || plan.value <= 0 || !fitsServers(problem, tables, plan.used)) continue;
    const value = planValue(search, plan.used, plan.value);
    return finish(
      search,
      { used: plan.used, value, nodes: 0 },
      { proven: columns.complete ? best.value : master.bound, gap },
    );
  }
  return exactly(search, columns, best, gap);
}

/** If there are too many fractions, whole GPUs per pool do nearly as well, because the cluster is that large. */
function byWholeGpus(
  search: IntegerSearch,
  { sets }: GridColumns,
  useful: readonly number[],
  gap: number,
): SearchResult {
  const { phases, master } = search;
  const pools = phases.time('pools', () => gridPlan(search, sets, { rule: POOLS, available: useful }));
  if (pools === undefined || pools.used.length === 0) return largePlan(search, gap);
  const lower = { used: pools.used, value: planValue(search, pools.used, pools.value), nodes: 0 };
  if (gapOf(search, lower.value, master.bound) <= Math.max(gap, GOOD_ENOUGH))
    return finish(search, lower, { proven: master.bound, gap });
  return closerByMilp(search, lower, { proven: master.bound, gap });
}

/**
 * literalPlan plans by the printed formulation, whose bound holds for as many pipelines of a sequence as it has copies. Where these
 * serve too little, more of them may serve enough, so that nothing is proved.
 */
function literalPlan(search: IntegerSearch, gap: number): SearchResult {
  const { problem, classes, tables, options } = search;
  if (problem.planner.virtualPer === 'server')
    throw new InputError('solve the literal formulation', [fault('it does not support virtualPer: server')]);
  const { outcome, used } = solveLiteral(
    options.highs,
    { problem, classes, tables },
    {
      copies: options.copies ?? 2,
      gap,
      ...milpWork(options.work ?? DEFAULT_WORK),
      ...timeLeft(search),
      ...(options.interrupted === undefined ? {} : { interrupted: options.interrupted }),
    },
  );
  if (outcome.status === 'infeasible') return { status: 'none', limit: 'copies', nodes: 0 };
  if (outcome.status !== 'optimal' && outcome.status !== 'feasible')
    return finish(search, undefined, { proven: search.master.bound, gap });
  if (!isMaximised(search) && !meetsRates(search, used, PROVEN))
    return finish(search, undefined, { proven: search.master.bound, gap });
  const value = planValue(search, used, outcome.objective);
  return finish(
    search,
    {
      used,
      value,
      nodes: outcome.nodes,
      tolerance: SOLVER_TOLERANCE,
      ...(outcome.bound === undefined ? {} : { bound: outcome.bound }),
    },
    { proven: search.master.bound, gap },
  );
}

/** The tables are exact: a plan found by them is optimal, and a plan they do not find does not exist. */
function exactly(
  search: IntegerSearch,
  { complete }: GridColumns,
  plan: GridPlan | undefined,
  gap: number,
): SearchResult {
  const { bound } = search.master;
  if (plan === undefined || (plan.used.length === 0 && !complete)) return largePlan(search, gap);
  if (plan.used.length === 0 || plan.value <= 0) return { status: 'infeasible', nodes: 0 };
  const { used } = plan;
  const value = planValue(search, used, plan.value);
  if (!complete) return finish(search, { used, value, nodes: 0 }, { proven: bound, gap });
  // The tables' sum and the plan's own differ by rounding.
  consistent(search, { bound: plan.value, value });
  return finish(search, { used, value, nodes: 0, bound: value }, { proven: bound, gap });
}

/**
 * byPools plans under the rule that each pool fills whole GPUs. Where the tables do not hold all columns, and their
 * plan is not close enough to the bound, all columns are priced on whole GPUs.
 */
function byPools(
  search: IntegerSearch,
  columns: GridColumns,
  { pools, useful }: { pools: GridPlan | undefined; useful: readonly number[] },
  gap: number,
): SearchResult {
  const found = exactly(search, columns, pools, gap);
  const known = found.status === 'found' ? found.value : undefined;
  if (columns.complete || (known !== undefined && gapOf(search, known, search.master.bound) <= gap))
    return found;
  const priced = search.phases.time('priced pools', () =>
    pricedPools(search, columns, { available: useful, known, gap }),
  );
  if (priced === undefined) return found;
  const { plan } = priced;
  const used = plan?.used ?? (found.status === 'found' ? found.used : []);
  if (used.length === 0) return found;
  const value = plan === undefined ? (known as number) : planValue(search, used, plan.value);
  const bound = consistent(search, { bound: tighter(search, priced.bound, search.master.bound), value });
  return finish(search, { used, value, nodes: found.nodes }, { proven: bound, gap });
}

/**
 * Some rules bind many pools at once (one size per server, minimum shares). The tables keep minimum shares, except
 * several of one model, and give a bound; their plan is taken if it happens to keep the other rules. Otherwise a MILP
 * keeps them, and what is least given is the best plan with one size per class, which keeps servers to one size, or the
 * one with whole GPUs per pool, which positions may share.
 */
function constrained(search: IntegerSearch, { sets, complete }: GridColumns, gap: number): SearchResult {
  const { problem, master, phases } = search;
  const { wholeGpusPer, virtualPer } = problem.planner;
  const relaxed = isTabled(search) ? search : withoutShares(search);
  const planBy = (rule: FillRule): Candidate | undefined => {
    const plan = phases.time('without rules', () => gridPlan(relaxed, sets, { rule }));
    return plan === undefined || plan.used.length === 0
      ? undefined
      : { used: plan.used, value: plan.value, nodes: 0 };
  };
  const best = planBy({ pool: wholeGpusPer === 'pool', shared: wholeGpusPer === 'class' });
  const bound = best === undefined || !complete ? master.bound : tighter(search, best.value, master.bound);
  const pools = wholeGpusPer === 'position' ? planBy(POOLS) : best;
  let lower = pools !== undefined && keepsRules(search, pools.used) ? withValue(search, pools) : undefined;
  if (lower !== undefined && gapOf(search, lower.value, bound) <= gap)
    return finish(search, lower, { proven: bound, gap });
  if (virtualPer === 'server') {
    const uniform = phases.time('one size per class', () => uniformPlan(search, searchPlan));
    lower = better(search, lower, uniform) as Candidate | undefined;
    if (lower !== undefined && gapOf(search, lower.value, bound) <= gap)
      return finish(search, lower, { proven: bound, gap });
  }
  const milp = phases.time('milp', () => milpPlan(search, bound));
  const either = better(search, lower, milp);
  if (either === undefined || either === 'infeasible')
    return finish(search, either ?? (isMaximised(search) ? undefined : anyPlan(search)), {
      proven: bound,
      gap,
    });
  const more = phases.time('sum', () => servingMore(search, either));
  return finish(search, more, { proven: bound, gap });
}

function withValue(search: IntegerSearch, { used, value, nodes }: Candidate): Candidate {
  return { used, value: planValue(search, used, value), nodes };
}

/** isTabled says whether the tables keep all minimum shares: at most one of each model. */
function isTabled({ tables }: IntegerSearch): boolean {
  return tables.every((table) => minSharesOf(table).length <= 1);
}

/** withoutShares is the search for plans that need not keep minimum shares, at the same prices of GPUs. */
function withoutShares(search: IntegerSearch): IntegerSearch {
  const { master, tables } = search;
  const none = tables.map(({ minShare }) => Array.from(minShare, () => 0));
  const free = {
    ...search,
    tables: tables.map((table) => ({ ...table, minShare: table.minShare.map(() => 0) })),
    master: { ...master, modelPrices: master.freeModelPrices, usePrices: none },
  };
  return { ...free, master: { ...free.master, bound: boundByPrices(free) } };
}

function keepsRules(search: IntegerSearch, used: readonly UsedColumn[]): boolean {
  const { problem, classes, tables } = search;
  const shares = tables.every((table, m) => {
    const own = used.filter(({ column }) => column.model === m);
    const all = own.reduce((sum, one) => sum + usedRps(one), 0);
    return classes.names.every((_, k) => {
      const uses = ({ column }: UsedColumn) =>
        column.parts.some(({ slot }) => table.slots[slot]?.classIndex === k);
      const using = own.filter(uses).reduce((sum, one) => sum + usedRps(one), 0);
      return using >= (table.minShare[k] as number) * all;
    });
  });
  return shares && fitsServers(problem, tables, used);
}

/**
 * If the tables are too large, the LP's proportions give a plan, and a MILP is solved if that plan is not close enough.
 */
function largePlan(search: IntegerSearch, gap: number): SearchResult {
  const { master, phases, problem } = search;
  const bulk = phases.time('bulk', () => planInBulk(search));
  const enough = Math.max(gap, GOOD_ENOUGH * problem.models.length);
  if (bulk !== undefined && bulk !== 'infeasible' && gapOf(search, bulk.value, master.bound) <= enough)
    return finish(search, bulk, { proven: master.bound, gap });
  return closerByMilp(search, bulk, { proven: master.bound, gap });
}

/**
 * closerByMilp solves a MILP where a plan is not close enough to its bound. Of a price, it first bounds the price of
 * whole GPUs, which may close the gap, and the MILP takes the columns that the bound found.
 */
export function closerByMilp(
  search: IntegerSearch,
  lower: Tried,
  { proven, gap }: { proven: number; gap: number },
): SearchResult {
  const { master, phases } = search;
  if (isMaximised(search) || lower === undefined || lower === 'infeasible') {
    const milp = phases.time('milp', () => milpPlan(search, proven));
    return finish(search, better(search, lower, milp), { proven, gap });
  }
  const whole = phases.time('whole GPUs', () => wholeGpuBound(search, lower.value));
  const bound = Math.max(proven, whole.bound);
  if (gapOf(search, lower.value, bound) <= gap) return finish(search, lower, { proven: bound, gap });
  const columns = [...master.columns, ...whole.columns];
  // The MILP takes every column of the LP that has a rate.
  const rps = [...master.rps, ...whole.columns.map(() => 1)];
  const richer = { ...search, master: { ...master, columns, rps } };
  const milp = phases.time('milp', () => milpPlan(richer, bound));
  return finish(search, better(search, lower, milp), { proven: bound, gap });
}

/** planInBulk is the better of the bulk's plan and, for a price, of an LP's plan rounded up, or else any plan. */
function planInBulk(search: IntegerSearch): Tried {
  const plan = bulkPlan(search);
  const none = plan === undefined || plan.used.length === 0 || plan.value <= 0;
  const bulk = none
    ? undefined
    : { used: plan.used, value: planValue(search, plan.used, plan.value), nodes: 0 };
  if (isMaximised(search)) return bulk;
  const used = roundedWithRoom(search);
  const rounded = used === undefined ? undefined : { used, value: priceOf(search, used), nodes: 0 };
  const met = bulk !== undefined && meetsRates(search, bulk.used, PROVEN) ? bulk : undefined;
  return better(search, met, rounded) ?? anyPlan(search);
}

/**
 * Whole GPUs per pool gave no plan, so any plan shares GPUs among the pools of a position. If fractions of GPUs give
 * none either, no plan exists.
 */
function withoutPools(
  search: IntegerSearch,
  columns: GridColumns,
  useful: readonly number[],
  gap: number,
): SearchResult {
  const { phases, master } = search;
  const upper = phases.time('fractions', () =>
    gridPlan(search, columns.sets, { rule: FRACTIONS, available: useful }),
  );
  if (upper === undefined) return largePlan(search, gap);
  if (upper.used.length === 0 || upper.value <= 0)
    return columns.complete ? { status: 'infeasible', nodes: 0 } : largePlan(search, gap);
  const exact = phases.time('positions', () => sharedPositions(search, columns, useful, upper.value));
  if (exact === 'infeasible') return { status: 'infeasible', nodes: 0 };
  return exact === undefined ? largePlan(search, gap) : finish(search, exact, { proven: master.bound, gap });
}

/** Plans by positions are sought among those that lose at most these parts of what fractions of GPUs reach. */
const LOST_BY_POSITIONS = [0.02, 0.1, 0.3];

/**
 * sharedPositions searches exactly for the best plan by positions, first among plans that are little worse than that by
 * fractions, and at last among all.
 * @param most the value of the best plan by fractions
 * @returns `infeasible` if there is provably none; undefined if the search ended before it found one
 */
function sharedPositions(
  search: IntegerSearch,
  { sets, complete }: GridColumns,
  useful: readonly number[],
  most: number,
): Tried {
  const worse = LOST_BY_POSITIONS.map((part) =>
    isMaximised(search) ? most * (1 - part) : most * (1 + part),
  );
  for (const value of [...worse, worstValue(search)]) {
    const upper = gridPlan(search, sets, { rule: FRACTIONS, known: value, available: useful });
    if (upper === undefined) return undefined;
    const exact = exactPositions(search, { upper, lower: { used: [], value, nodes: 0 }, complete });
    if (exact.used.length > 0) return exact;
    if (exact.bound === undefined) return undefined;
  }
  return 'infeasible';
}

/** worstValue is worse than the value of any plan: no throughput, or more than all GPUs cost. */
function worstValue(search: IntegerSearch): number {
  if (isMaximised(search)) return 0;
  const { available, unitCost } = search.classes;
  return 2 * available.reduce((sum, n, k) => sum + n * (unitCost[k] as number), 0);
}

/** loosest is the looser of two bounds. */
function loosest(search: IntegerSearch, a: number, b: number): number {
  return isMaximised(search) ? Math.max(a, b) : Math.min(a, b);
}

function positions(
  search: IntegerSearch,
  columns: GridColumns,
  pools: GridPlan | undefined,
  useful: readonly number[],
  gap: number,
): SearchResult {
  const { sets, complete } = columns;
  const { master, phases } = search;
  const lower: Candidate | undefined =
    pools !== undefined && pools.used.length > 0
      ? { used: pools.used, value: planValue(search, pools.used, pools.value), nodes: 0 }
      : undefined;
  if (lower === undefined) return withoutPools(search, columns, useful, gap);
  const upper = phases.time('fractions', () =>
    gridPlan(search, sets, { rule: FRACTIONS, known: lower.value, available: useful }),
  );
  // The tables leave out states that are no better than the known plan, so they may find less than it.
  const proved = upper === undefined || !complete ? master.bound : loosest(search, upper.value, lower.value);
  const bound = tighter(search, proved, master.bound);
  if (upper !== undefined && gapOf(search, lower.value, upper.value) <= PROVEN)
    return finish(search, lower, { proven: bound, gap });
  const exact: Candidate =
    upper === undefined
      ? lower
      : phases.time('positions', () => exactPositions(search, { upper, lower, complete }));
  if (gapOf(search, exact.value, tighter(search, exact.bound ?? bound, bound)) <= gap)
    return finish(search, exact, { proven: bound, gap });
  return closerByMilp(search, exact, { proven: bound, gap });
}
