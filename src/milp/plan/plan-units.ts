import { largestOf, smallestOf } from '../../collections/index.js';
import type { Column } from '../columns/index.js';
import type { ClassTable } from '../tables/index.js';

/** PlanGoal is the objective of a plan. No plan reaches more than `most`. */
export type PlanGoal =
  | { readonly kind: 'throughput'; readonly weights: readonly number[]; readonly most: number }
  | { readonly kind: 'price'; readonly rps: readonly number[] };

/**
 * PlanUnits holds the units of a MILP. With these units its figures lie between 0 and 1 whatever those of the problem
 * are, so the solver's absolute tolerances mean the same everywhere.
 */
export interface PlanUnits {
  /** The requests per second that count as 1, by model. */
  readonly rps: readonly number[];
  /** The least throughput/weight, or the price, that counts as 1. */
  readonly value: number;
}

/**
 * planUnits chooses the units of a MILP over columns. A model's unit of rate is that of its fastest partition, or the
 * rate that the model needs if that is less: GPUs that serve more than is needed are as good as ones that serve just
 * that. It is 1 for a model without columns. The unit of value is the least unit of rate/weight or, for a price, that
 * of the dearest GPU.
 * @param columns the columns, with `unitRps`, the requests per second of a unit of each of their partitions: of a
 *   virtual GPU, or of a whole one if each pool fills its own
 */
export function planUnits(
  { columns, unitRps }: { columns: readonly Column[]; unitRps: readonly (readonly number[])[] },
  classes: ClassTable,
  goal: PlanGoal,
): PlanUnits {
  const needs = goal.kind === 'price' ? goal.rps : goal.weights.map((weight) => weight * goal.most);
  const rps = needs.map((need, m) => {
    const fastest = Math.max(
      0,
      largestOf(unitRps.flatMap((rates, c) => (columns[c]?.model === m ? rates : []))),
    );
    const unit = need > 0 && need < Infinity ? Math.min(fastest, need) : fastest;
    return unit > 0 ? unit : 1;
  });
  if (goal.kind === 'price') return { rps, value: largestOf(classes.unitCost) || 1 };
  const values = goal.weights.flatMap((weight, m) => (weight > 0 ? [(rps[m] as number) / weight] : []));
  return { rps, value: smallestOf(values) };
}

const DIGITS = 30;

/**
 * coefficient rounds a figure to 30 binary digits after the first, which is far finer than the solver's tolerances. The
 * last digits of a figure depend on the units of a spec; without them the solver takes the same path in all units. It
 * leaves 0, infinite figures and NaN as they are.
 */
export function coefficient(figure: number): number {
  if (!Number.isFinite(figure) || figure === 0) return figure;
  const step = 2 ** (Math.floor(Math.log2(Math.abs(figure))) - DIGITS);
  return Math.round(figure / step) * step;
}
