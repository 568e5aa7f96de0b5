import type { PipelineCase } from './pipeline-cases.js';

/** CaseFound is what a search found for a case: a cost, where it has a plan, and a bound on the cost of any plan. */
export interface CaseFound {
  readonly asked: PipelineCase;
  readonly hourlyCost?: number | undefined;
  readonly bound?: number | undefined;
}

/** Shared is what a case can take from others: a plan that costs less than its own, and a bound that is higher. */
export interface Shared {
  /** The case whose plan is cheapest; undefined where no case has one that serves here too. */
  readonly from: number | undefined;
  readonly bound: number;
}

const ROUNDING = 1e-9;

/**
 * sharedBetween lets cases of one comparison learn from one another. A plan for a shorter SLO and fewer GPUs also serves a
 * longer SLO and more GPUs, and no plan for the former costs less than the bound of the latter. So costs never rise as
 * the SLO or the GPUs grow, whatever the search for each of them found.
 */
export function sharedBetween(found: readonly (CaseFound | undefined)[]): Shared[] {
  return found.map((own, i): Shared => {
    if (own === undefined) return { from: undefined, bound: 0 };
    let from = own.hourlyCost === undefined ? undefined : i;
    let cost = own.hourlyCost ?? Number.POSITIVE_INFINITY;
    let bound = own.bound ?? 0;
    found.forEach((other, k) => {
      if (other === undefined || k === i) return;
      const otherCost = other.hourlyCost ?? Number.POSITIVE_INFINITY;
      if (otherCost < cost * (1 - ROUNDING) && isNoHarder(own.asked, other.asked))
        [from, cost] = [k, otherCost];
      if (isNoHarder(other.asked, own.asked)) bound = Math.max(bound, other.bound ?? 0);
    });
    return { from, bound };
  });
}

/** isNoHarder says whether every plan for the second case is one for the first. */
function isNoHarder(first: PipelineCase, second: PipelineCase): boolean {
  if (first.spec.sloMs < second.spec.sloMs) return false;
  return (
    second.unlimited.every((name) => first.unlimited.includes(name)) &&
    Object.entries(second.mix).every(
      ([name, count]) => first.unlimited.includes(name) || count <= (first.mix[name] ?? 0),
    )
  );
}
