import type { Mix } from './mixes.js';

/** Demand is what a case asks for: the GPUs that a plan may use, and what it must reach with them. */
export interface Demand {
  /** The number of GPUs of the classes that have a limit. */
  readonly mix: Mix;
  /** The classes without a limit. */
  readonly unlimited: readonly string[];
  /** The latency that is promised; infinite where none is. */
  readonly sloMs: number;
  /** The accuracy that is promised, of a cascade. */
  readonly accuracy?: number;
}

/** CaseFound is what a search found for a case: a plan's value, where it has a plan, and a bound on that of any plan. */
export interface CaseFound {
  readonly asked: Demand;
  readonly value?: number | undefined;
  readonly bound?: number | undefined;
}

/** Better says which values are better: the least, such as of costs, or the most, such as of accuracies. */
export type Better = 'least' | 'most';

/** Shared is what a case can take from others: a plan of a better value than its own, and a tighter bound. */
export interface Shared {
  /** The case whose plan is best; undefined where no case has one that serves here too. */
  readonly from: number | undefined;
  /** No plan is better; 0 where the least is best, and infinite where the most is, if nothing is known. */
  readonly bound: number;
}

const ROUNDING = 1e-9;

/**
 * sharedBetween lets cases of one comparison learn from one another. A plan for a shorter SLO, a higher accuracy and fewer
 * GPUs also serves a longer SLO, a lower accuracy and more GPUs, and no plan for the former is better than the bound of the
 * latter. So plans never get worse as cases get easier, whatever the search for each of them found.
 */
export function sharedBetween(found: readonly (CaseFound | undefined)[], better: Better): Shared[] {
  const sign = better === 'most' ? 1 : -1;
  const unknown = better === 'most' ? Number.POSITIVE_INFINITY : 0;
  return found.map((own, i): Shared => {
    if (own === undefined) return { from: undefined, bound: unknown };
    let from = own.value === undefined ? undefined : i;
    let value = own.value;
    let bound = own.bound ?? unknown;
    found.forEach((other, k) => {
      if (other === undefined || k === i) return;
      const isBetter =
        other.value !== undefined &&
        (value === undefined || sign * (other.value - value) > ROUNDING * Math.abs(value));
      if (isBetter && isNoHarder(own.asked, other.asked)) [from, value] = [k, other.value];
      if (other.bound !== undefined && isNoHarder(other.asked, own.asked))
        bound = better === 'most' ? Math.min(bound, other.bound) : Math.max(bound, other.bound);
    });
    return { from, bound };
  });
}

/** isNoHarder says whether every plan for the second case is one for the first. */
function isNoHarder(first: Demand, second: Demand): boolean {
  if (first.sloMs < second.sloMs || (first.accuracy ?? 0) > (second.accuracy ?? 0)) return false;
  return (
    second.unlimited.every((name) => first.unlimited.includes(name)) &&
    Object.entries(second.mix).every(
      ([name, count]) => first.unlimited.includes(name) || count <= (first.mix[name] ?? 0),
    )
  );
}
