import { smallestOf } from '../../collections/index.js';
import { type UsedColumn, usedRps } from '../plan/index.js';
import { ROUNDING } from '../rounding.js';
import { type IntegerSearch, limitOf, type SearchResult } from './search-types.js';

/** PROVEN is a relative gap that rounding alone may leave. */
export const PROVEN = 1e-9;

/** SOLVER_TOLERANCE is the part by which a solver's proofs may be off, ten times its own tolerance on rows. */
export const SOLVER_TOLERANCE = 1e-6;

/** Candidate is a plan found during the search, and the best one so far. */
export interface Candidate {
  readonly used: readonly UsedColumn[];
  readonly value: number;
  readonly nodes: number;
  /** A bound that was proved by an exact search, or by a MIP that held every column. */
  readonly bound?: number;
  /** The tolerance of the method that proved the bound, if it is larger than rounding. */
  readonly tolerance?: number;
}

/** Tried is the result of one way to find a plan: a plan, the proof that there is none, or neither. */
export type Tried = Candidate | 'infeasible' | undefined;

/** isMaximised says whether the objective is throughput; a cost or power is minimised. */
export function isMaximised({ problem }: IntegerSearch): boolean {
  return problem.planner.objective === 'throughput';
}

/** tighter is the tighter of two bounds: the smaller one for throughput, the larger one for a price. */
export function tighter(search: IntegerSearch, a: number, b: number): number {
  return isMaximised(search) ? Math.min(a, b) : Math.max(a, b);
}

/**
 * meetsRates says whether columns in use serve every model's rate, less the part `tolerance` of it. A model without a
 * rate is always served.
 */
export function meetsRates(
  { tables }: Pick<IntegerSearch, 'tables'>,
  used: readonly UsedColumn[],
  tolerance = ROUNDING,
): boolean {
  return tables.every(({ rps = 0 }, m) => {
    const own = used.filter(({ column }) => column.model === m);
    return own.reduce((sum, one) => sum + usedRps(one), 0) >= rps * (1 - tolerance);
  });
}

/** ProvedValue is the value of a plan, and the bound that was proved. */
interface ProvedValue {
  readonly bound: number;
  readonly value: number;
  /** The tolerance of what proved the bound, if it is more than rounding. */
  readonly tolerance?: number | undefined;
}

/**
 * consistent gives the bound, or the plan's value if that is better than the bound by no more than the tolerance (by
 * default a part in 10⁹), as rounding may cause.
 * @throws Error if the plan is better than the bound by more, which is a bug in the planner that no plan may hide
 */
export function consistent(search: IntegerSearch, proved: ProvedValue): number {
  const { bound, value, tolerance = PROVEN } = proved;
  const maximised = isMaximised(search);
  const [smaller, larger] = maximised ? [bound, value] : [value, bound];
  if (smaller >= larger) return bound;
  if (!(smaller >= larger * (1 - tolerance)))
    throw new Error(
      `The search proved a bound of ${bound} and found a plan of ${value}: one of them is wrong`,
    );
  return value;
}

/**
 * better is the better of two tries: of two plans the one of better value (`a` if equal), with the nodes of both, and
 * with the bound of `b` or, if it has none, of `a`. Any try comes before none, and a plan before `infeasible`.
 */
export function better(search: IntegerSearch, a: Tried, b: Tried): Tried {
  if (a === undefined || b === undefined) return a ?? b;
  if (a === 'infeasible') return b;
  if (b === 'infeasible') return a;
  const bIsBetter = isMaximised(search) ? b.value > a.value : b.value < a.value;
  const nodes = a.nodes + b.nodes;
  const { bound, tolerance } = b.bound === undefined ? a : b;
  const { used, value } = bIsBetter ? b : a;
  return {
    used,
    value,
    nodes,
    ...(bound === undefined ? {} : { bound }),
    ...(tolerance === undefined ? {} : { tolerance }),
  };
}

/**
 * gapOf is the relative gap: bound/value − 1, or value/bound − 1 for a price. It is infinite if no bound was proved for
 * a price (a bound of 0).
 */
export function gapOf(search: IntegerSearch, value: number, bound: number): number {
  if (value === bound) return 0;
  return isMaximised(search) ? bound / value - 1 : value / bound - 1;
}

/**
 * planValue is the value of a plan: the least throughput/weight over models with a weight or, for a price, `priced` as
 * it was given, because the price is known from the plan's making.
 */
export function planValue(search: IntegerSearch, used: readonly UsedColumn[], priced: number): number {
  if (!isMaximised(search)) return priced;
  const rates = search.tables.map((_, m) =>
    used.filter(({ column }) => column.model === m).reduce((sum, one) => sum + usedRps(one), 0),
  );
  return smallestOf(
    search.tables.flatMap(({ weight }, m) => (weight > 0 ? [(rates[m] as number) / weight] : [])),
  );
}

/** Ending holds the figures by which the result of a search is judged. */
interface Ending {
  /** A bound that holds for all plans. */
  readonly proven: number;
  /** The gap that is good enough. */
  readonly gap: number;
}

/**
 * finish makes the result of a search from the plan that it found, if any. No plan gives `none` with what ended the
 * search. A plan that misses a rate is none, and so is one of throughput 0, which is `infeasible` if the bound is 0. A
 * plan within rounding of the bound has no `limit`, which makes it optimal.
 * @throws Error if the plan is better than the bound (see `consistent`)
 */
export function finish(search: IntegerSearch, found: Tried, { proven, gap }: Ending): SearchResult {
  if (found === 'infeasible') return { status: 'infeasible', nodes: 0 };
  if (found === undefined || (!isMaximised(search) && !meetsRates(search, found.used, PROVEN)))
    return { status: 'none', limit: limitOf(search.options, search.phases), nodes: found?.nodes ?? 0 };
  const tightest = found.bound === undefined ? proven : tighter(search, found.bound, proven);
  if (isMaximised(search) && found.value <= 0)
    return tightest <= 0
      ? { status: 'infeasible', nodes: found.nodes }
      : { status: 'none', limit: limitOf(search.options, search.phases), nodes: found.nodes };
  const bound = consistent(search, { bound: tightest, value: found.value, tolerance: found.tolerance });
  const off = gapOf(search, found.value, bound);
  const limit = off <= PROVEN ? undefined : off <= gap ? 'gap' : limitOf(search.options, search.phases);
  return { status: 'found', used: found.used, value: found.value, bound, limit, nodes: found.nodes };
}
