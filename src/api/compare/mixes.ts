import {
  type Cluster,
  type DeviceClass,
  type Fault,
  fault,
  type OpenCluster,
  option,
  type PooledSpecModel,
} from '../../artifacts/index.js';
import type { LoadedPooled } from '../solve/index.js';

/** Mix is a number of GPUs by class. */
export type Mix = Readonly<Record<string, number>>;

/** The most mixes that a budget is spread over. A plan is solved for each. */
export const MOST_BUDGET_MIXES = 60;

/** mixText writes a mix as people do: `L4=25,T4=75`. */
export function mixText(mix: Mix): string {
  return Object.entries(mix)
    .map(([name, count]) => `${name}=${count}`)
    .join(',');
}

/** WrittenMix is a mix as a person wrote it. `at` is the option, or the file and line, that errors name. */
export interface WrittenMix {
  readonly text: string;
  readonly at: string;
}

/**
 * parseMix reads a mix such as `L4=25,T4=75`: classes of the cluster, each once, and at least one GPU in all.
 * @returns a list of the one mix, or an empty list where it added faults to `told`
 */
export function parseMix({ text, at }: WrittenMix, { devices }: OpenCluster, told: Fault[]): Mix[] {
  const mix: Record<string, number> = {};
  const wrong: string[] = [];
  for (const part of text.split(',').map((one) => one.trim())) {
    const [, name = '', count = ''] = /^(.+?)\s*=\s*(\d{1,7})$/.exec(part) ?? [];
    if (name === '') wrong.push(`${JSON.stringify(part)} is not class=count, such as L4=25`);
    else if (!Object.hasOwn(devices, name))
      wrong.push(`the cluster has no class ${name}; it has ${Object.keys(devices).join(', ')}`);
    else if (Object.hasOwn(mix, name)) wrong.push(`names ${name} twice`);
    else mix[name] = Number(count);
  }
  if (wrong.length === 0 && Object.values(mix).every((count) => count === 0)) wrong.push('has no GPU');
  told.push(...wrong.map((message) => fault(message, at)));
  return wrong.length === 0 ? [mix] : [];
}

/**
 * withMix gives a copy of a cluster with the GPUs of a mix. Classes that the mix leaves out have none, and no GPU
 * counts as taken.
 */
export function withMix(cluster: Cluster, mix: Mix): Cluster {
  const devices = Object.entries(cluster.devices).map(([name, { taken: _, ...device }]) => {
    const changed: DeviceClass = { ...device, count: mix[name] ?? 0 };
    return [name, changed] as const;
  });
  return { ...cluster, devices: Object.fromEntries(devices) };
}

interface PricedClass {
  readonly name: string;
  readonly price: number;
}

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
  const classes = pricedClasses(loaded, told);
  if (classes === undefined) return [];
  const cheapest = classes.at(-1) as PricedClass;
  if (cheapest.price > budget) {
    told.push(
      fault(
        `${budget} an hour buys no GPU: the cheapest, ${cheapest.name}, costs ${cheapest.price}`,
        option('budget'),
      ),
    );
    return [];
  }
  for (let step = 1; ; step = nextStep(step)) {
    const mixes = mixesInSteps(classes, budget, step);
    if (mixes === undefined) continue;
    const names = Object.keys(loaded.cluster.devices).filter((name) => classes.some((c) => c.name === name));
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
 * pricedClasses lists the classes that some model may use, the dearest first.
 * @returns undefined where a price is missing
 */
function pricedClasses({ cluster, spec, profiles }: LoadedPooled, told: Fault[]): PricedClass[] | undefined {
  const usable = Object.entries(cluster.devices).filter(([name]) =>
    spec.value.models.some(
      (model, m) => allowsClass(model, name) && profiles[m]?.profile.devices[name] !== undefined,
    ),
  );
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

/** Sums of prices such as 3 × 0.1 may exceed the budget by rounding alone. */
const ROUNDING = 1e-9;

/**
 * mixesInSteps lists the mixes of one step size.
 * @returns undefined where there are more than `MOST_BUDGET_MIXES`
 */
function mixesInSteps(classes: readonly PricedClass[], budget: number, step: number): Mix[] | undefined {
  const mixes: Mix[] = [];
  const add = (k: number, left: number, so: Mix): boolean => {
    const { name, price } = classes[k] as PricedClass;
    const most = Math.floor(left / price + ROUNDING);
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
