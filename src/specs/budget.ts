import { type Fault, fault, type OpenCluster, option } from '../formats/index.js';
import { type Mix, MOST_IN_MIX } from './mixes.js';

/** Sums of prices such as 3 × 0.1 may exceed the budget by rounding alone. */
export const PRICE_ROUNDING = 1e-9;

/** PricedClass is a class that can be bought, with the price of a GPU per hour. */
export interface PricedClass {
  readonly name: string;
  readonly price: number;
}

/**
 * pricedClasses lists the classes of a cluster that can be used, the dearest first.
 * @returns undefined where faults were added to `told`: a price is missing, or no class can be used
 */
function pricedClasses(
  { devices }: OpenCluster,
  isUsable: (name: string) => boolean,
  told: Fault[],
): PricedClass[] | undefined {
  const usable = Object.entries(devices).filter(([name]) => isUsable(name));
  const unpriced = usable.filter(([, { hourlyCost }]) => hourlyCost === undefined || hourlyCost <= 0);
  for (const [name, { hourlyCost }] of unpriced)
    told.push(
      fault(
        hourlyCost === undefined
          ? `has no hourlyCost, which ${option('budget')} needs`
          : 'costs nothing, so any number fits',
        `/cluster/devices/${name}`,
      ),
    );
  if (usable.length === 0) told.push(fault('no model can use any class of the cluster', option('budget')));
  if (unpriced.length > 0 || usable.length === 0) return undefined;
  return usable
    .map(([name, { hourlyCost }]) => ({ name, price: hourlyCost as number }))
    .sort((a, b) => b.price - a.price);
}

/** boughtClasses lists the classes that can be used, where the budget buys a GPU of the cheapest at least. */
export function boughtClasses(
  cluster: OpenCluster,
  { budget, isUsable }: { readonly budget: number; readonly isUsable: (name: string) => boolean },
  told: Fault[],
): PricedClass[] | undefined {
  const classes = pricedClasses(cluster, isUsable, told);
  const cheapest = classes?.at(-1);
  if (cheapest !== undefined && budget / cheapest.price > MOST_IN_MIX) {
    const said = `${budget} an hour buys more than ${MOST_IN_MIX} devices of ${cheapest.name}, the most that a mix has`;
    told.push(fault(said, option('budget')));
    return undefined;
  }
  if (cheapest === undefined || cheapest.price <= budget) return classes;
  const { name, price } = cheapest;
  told.push(
    fault(`${budget} an hour buys no device: the cheapest, ${name}, costs ${price}`, option('budget')),
  );
  return undefined;
}

/**
 * oneClassMixes lists, for each class that can be used, as many GPUs as a budget buys of it: the mixes to compare where a
 * plan has GPUs of one class only.
 * @param budget per hour, in the unit of `hourlyCost`
 * @returns no mix where faults were added to `told`, as by `budgetMixes`
 */
export function oneClassMixes(
  cluster: OpenCluster,
  asked: { readonly budget: number; readonly isUsable: (name: string) => boolean },
  told: Fault[],
): Mix[] {
  const classes = boughtClasses(cluster, asked, told) ?? [];
  return classes.flatMap(({ name, price }) => {
    const count = Math.floor(asked.budget / price + PRICE_ROUNDING);
    return count === 0 ? [] : [{ [name]: count }];
  });
}
