import { type UsedColumn, usedRps } from '../plan/index.js';
import type { SearchLimit } from '../problem.js';
import type { IntegerSearch, SearchResult } from './search-types.js';

/** A gap that rounding may leave. */
export const PROVEN = 1e-9;

/** A plan on the way to the best one. */
export interface Candidate {
  readonly used: readonly UsedColumn[];
  readonly value: number;
  readonly nodes: number;
  /** Proven by a MIP that held every column. */
  readonly bound?: number;
}

export function isMaximised({ problem }: IntegerSearch): boolean {
  return problem.planner.objective === 'throughput';
}

/** Of two bounds the one that says more. */
export function tighter(search: IntegerSearch, a: number, b: number): number {
  return isMaximised(search) ? Math.min(a, b) : Math.max(a, b);
}

/** A solver's bound may lie a tolerance on the wrong side of the value. */
export function tighterOf(search: IntegerSearch, bound: number, value: number): number {
  return isMaximised(search) ? Math.max(bound, value) : Math.min(bound, value);
}

/** Of two plans the one that does more, with the work of both. */
export function better(
  search: IntegerSearch,
  a: Candidate | undefined,
  b: Candidate | undefined,
): Candidate | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const bIsBetter = isMaximised(search) ? b.value > a.value : b.value < a.value;
  const nodes = a.nodes + b.nodes;
  const bound = b.bound ?? a.bound;
  return { ...(bIsBetter ? b : a), nodes, ...(bound === undefined ? {} : { bound }) };
}

/** Relative: bound/value − 1; of a price, value/bound − 1. */
export function gapOf(search: IntegerSearch, value: number, bound: number): number {
  return isMaximised(search) ? bound / value - 1 : value / bound - 1;
}

/** What a plan is worth: the least throughput/weight; its price is known where it was made. */
export function planValue({ problem }: IntegerSearch, used: readonly UsedColumn[], priced: number): number {
  if (problem.planner.objective !== 'throughput') return priced;
  const rates = problem.models.map((_, m) =>
    used.filter(({ column }) => column.model === m).reduce((sum, one) => sum + usedRps(one), 0),
  );
  return Math.min(
    ...problem.models.flatMap(({ weight }, m) => (weight > 0 ? [(rates[m] as number) / weight] : [])),
  );
}

/** The result of a search that ends with a plan, or with none. @param proven a bound of all plans */
export function finish(
  search: IntegerSearch,
  found: Candidate | undefined,
  proven: number,
  gap: number,
): SearchResult {
  if (found === undefined) return { status: 'none', limit: limitOf(search), nodes: 0 };
  const bound = found.bound === undefined ? proven : tighter(search, found.bound, proven);
  if (isMaximised(search) && found.value <= 0)
    return bound <= 0
      ? { status: 'infeasible', nodes: found.nodes }
      : { status: 'none', limit: limitOf(search), nodes: found.nodes };
  const off = gapOf(search, found.value, bound);
  const limit = off <= PROVEN ? undefined : off <= gap ? 'gap' : limitOf(search);
  return { status: 'found', used: found.used, value: found.value, bound, limit, nodes: found.nodes };
}

function limitOf({ options, phases }: IntegerSearch): SearchLimit {
  if (options.interrupted?.() === true) return 'interrupted';
  return options.timeLimitMs !== undefined && phases.elapsed() >= options.timeLimitMs ? 'time' : 'work';
}
