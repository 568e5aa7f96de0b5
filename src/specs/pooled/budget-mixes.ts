import { itemAt } from '../../collections/index.js';
import type { Fault, PooledSpecModel } from '../../formats/index.js';
import { boughtClasses, PRICE_ROUNDING, type PricedClass } from '../budget.js';
import type { Mix } from '../mixes.js';
import type { LoadedPooled } from './pooled.js';

/** The most mixes that a budget is spread over. A plan is solved for each. */
const MOST_BUDGET_MIXES = 60;

/**
 * budgetMixes lists the mixes that a budget buys and that are worth comparing. These are the mixes to which no GPU can
 * be added, since one more GPU never serves less. The cheapest class takes what the others leave of the budget. The
 * others go in steps of s GPUs (and to the most that can be bought), with the first s that gives at most
 * `MOST_BUDGET_MIXES` (60) mixes; s is tried from 1 to 10, then grows by about a tenth. With s = 1 every such mix is
 * listed. Classes that no model can use are left out. The cluster's own counts do not matter, because the question is
 * what to buy.
 * @param budget per hour, in the unit of `hourlyCost`
 * @returns no mix where faults were added to `told`: a class has no price above 0, no class can be used, or the budget
 *   buys no GPU
 */
export function budgetMixes(loaded: LoadedPooled, budget: number, told: Fault[]): Mix[] {
  const { cluster, spec, profiles } = loaded;
  const isUsable = (name: string): boolean =>
    spec.value.models.some(
      (model, m) => allowsClass(model, name) && profiles[m]?.profile.devices[name] !== undefined,
    );
  const classes = boughtClasses(cluster, { budget, isUsable }, told);
  if (classes === undefined) return [];
  for (let step = 1; ; step = nextStep(step)) {
    const mixes = mixesInSteps(classes, budget, step);
    if (mixes === undefined) continue;
    const names = Object.keys(cluster.devices).filter((name) => classes.some((c) => c.name === name));
    return mixes.map((mix) => Object.fromEntries(names.map((name) => [name, mix[name] ?? 0])));
  }
}

/** allowsClass says whether a model's `only` and `not` let it use a class. An empty `only` allows every class. */
export function allowsClass({ only = [], not = [] }: PooledSpecModel, name: string): boolean {
  return (only.length === 0 || only.includes(name)) && !not.includes(name);
}

/** nextStep counts 1 … 10, then grows by about a tenth each time. */
function nextStep(step: number): number {
  return step + Math.max(1, Math.floor(step / 10));
}

/**
 * mixesInSteps lists the mixes of one step size.
 * @returns undefined where there are more than `MOST_BUDGET_MIXES`
 */
function mixesInSteps(classes: readonly PricedClass[], budget: number, step: number): Mix[] | undefined {
  const mixes: Mix[] = [];
  const add = (k: number, left: number, so: Mix): boolean => {
    const { name, price } = itemAt(classes, k);
    const most = Math.floor(left / price + PRICE_ROUNDING);
    if (k === classes.length - 1) {
      mixes.push({ ...so, [name]: most });
      return mixes.length <= MOST_BUDGET_MIXES;
    }
    for (let n = 0; n < most; n += step)
      if (!add(k + 1, left - n * price, { ...so, [name]: n })) return false;
    return add(k + 1, left - most * price, { ...so, [name]: most });
  };
  return add(0, budget, {}) ? mixes : undefined;
}
