import type { Column } from '../columns/index.js';
import type { ClassTable } from '../tables/index.js';

/** What a plan is to be best at. `most`: no plan reaches more. */
export type PlanGoal =
  | { readonly kind: 'throughput'; readonly weights: readonly number[]; readonly most: number }
  | { readonly kind: 'price'; readonly rps: readonly number[] };

/**
 * What a MILP counts as 1, so that its figures lie between 0 and 1 whatever those of the problem: absolute tolerances of the
 * solver then mean the same everywhere.
 */
export interface PlanUnits {
  /** By model: requests per second. */
  readonly rps: readonly number[];
  /** Least throughput/weight, or price. */
  readonly value: number;
}

/**
 * Units of a MILP over columns. A model's unit is what its fastest partition serves, or what the model needs where that is
 * less: a virtual GPU that serves more than is needed is as good as one that serves just that.
 * @param unitRps requests per second of a unit of each partition, by column
 */
export function planUnits(
  columns: readonly Column[],
  unitRps: readonly (readonly number[])[],
  classes: ClassTable,
  goal: PlanGoal,
): PlanUnits {
  const needs = goal.kind === 'price' ? goal.rps : goal.weights.map((weight) => weight * goal.most);
  const rps = needs.map((need, m) => {
    const fastest = Math.max(0, ...unitRps.flatMap((rates, c) => (columns[c]?.model === m ? rates : [])));
    const unit = need > 0 && need < Infinity ? Math.min(fastest, need) : fastest;
    return unit > 0 ? unit : 1;
  });
  if (goal.kind === 'price') return { rps, value: Math.max(...classes.unitCost) || 1 };
  const values = goal.weights.flatMap((weight, m) => (weight > 0 ? [(rps[m] as number) / weight] : []));
  return { rps, value: Math.min(...values) };
}

const DIGITS = 30;

/**
 * A coefficient to 30 binary digits, far finer than the solver's tolerances. The last digits of a figure depend on the units
 * of a spec; without them the solver takes the same way in all units.
 */
export function coefficient(figure: number): number {
  if (!Number.isFinite(figure) || figure === 0) return figure;
  const step = 2 ** (Math.floor(Math.log2(Math.abs(figure))) - DIGITS);
  return Math.round(figure / step) * step;
}
