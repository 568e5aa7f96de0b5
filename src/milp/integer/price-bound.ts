import { type Column, roundSteps } from '../columns/index.js';
import type { MasterGoal } from '../master/index.js';
import { boundAt, solveMaster } from '../master/index.js';
import type { ClassTable } from '../tables/index.js';
import type { IntegerSearch } from './search-types.js';

/** PriceBound is a bound on prices that counts whole GPUs, with the columns that prove it. */
export interface PriceBound {
  readonly bound: number;
  readonly columns: readonly Column[];
}

/** After this many clusters, or LPs solved for them, the present bound is taken. */
const MOST_CLUSTERS = 20_000;
const MOST_LPS = 60;

/** Cut holds prices of GPUs at which the rates are worth `need`: a cluster worth less cannot meet them. */
interface Cut {
  readonly perGpu: readonly number[];
  readonly need: number;
}

/**
 * wholeGpuBound is the least price of whole GPUs whose LP can meet the rates. A plan buys whole GPUs, so none is
 * cheaper. The LP of the whole problem buys fractions, whose price is far lower at small rates. Clusters are taken by
 * rising price. Each cluster that cannot meet the rates gives prices that rule out many others (a cut, as in Benders'
 * method). It ends after 60 LPs or at `search.stop` with the price that it has come to, and keeps the LP's bound if
 * more than 20,000 clusters cost less than `most`.
 * @param most the price of a known plan, which is the bound if no cheaper cluster meets the rates
 */
export function wholeGpuBound(search: IntegerSearch, most: number): PriceBound {
  const { master, tables, classes } = search;
  const bound = master.bound;
  const weights = tables.map(({ rps = 0 }) => rps);
  const goal: MasterGoal = { kind: 'throughput', weights, enough: 1, tooLittle: 1 - 1e-9 };
  const columns = new Set<Column>();
  const cuts: Cut[] = [];
  const clusters = clustersBetween(classes, bound, most);
  if (clusters === undefined) return { bound, columns: [] };
  let lps = 0;
  for (const { gpus, price } of clusters) {
    if (cuts.some(({ perGpu, need }) => worthOf(perGpu, gpus) < need * (1 - 1e-9))) continue;
    if (++lps > MOST_LPS || search.stop(0)) return { bound: price, columns: [...columns] };
    const known = [...master.columns, ...columns];
    const tried = tryCluster(search, goal, gpus, known);
    for (const column of tried.columns) columns.add(column);
    if (tried.reach >= 1 - 1e-9) return { bound: price, columns: [...columns] };
    if (tried.cut !== undefined) cuts.push(tried.cut);
  }
  return { bound: most, columns: [...columns] };
}

/** tryCluster finds the largest part of the rates that a number of whole GPUs can serve. */
function tryCluster(
  search: IntegerSearch,
  goal: MasterGoal,
  gpus: readonly number[],
  known: readonly Column[],
): { reach: number; cut: Cut | undefined; columns: readonly Column[] } {
  const { options, tables, sources, classes } = search;
  const cluster: ClassTable = { ...classes, available: gpus, unitCost: gpus.map(() => 0) };
  const made = roundSteps(sources);
  const stop = () => search.stop(made);
  const { bound, gpuPrices, modelPrices, columns, rps } = solveMaster(
    options.highs,
    { classes: cluster, tables, sources, goal },
    { start: known, stop },
  );
  const used = columns.filter((_, c) => (rps[c] ?? 0) > 0);
  const at = boundAt(cluster, goal, { perGpu: gpuPrices, perModel: modelPrices });
  const cut = { perGpu: gpuPrices, need: worthOf(gpuPrices, gpus) / at };
  return { reach: bound, cut: at > 0 && Number.isFinite(at) ? cut : undefined, columns: used };
}

function worthOf(perGpu: readonly number[], gpus: readonly number[]): number {
  return gpus.reduce((sum, n, k) => sum + n * (perGpu[k] as number), 0);
}

/**
 * clustersBetween lists clusters of whole GPUs in a range of prices, by rising price. It is undefined if there are too
 * many.
 */
function clustersBetween(
  { available, unitCost }: ClassTable,
  least: number,
  most: number,
): { gpus: number[]; price: number }[] | undefined {
  const found: { gpus: number[]; price: number }[] = [];
  let visited = 0;
  const extend = (gpus: number[], price: number): boolean => {
    if (++visited > 50 * MOST_CLUSTERS) return false;
    const k = gpus.length;
    if (k === available.length) {
      if (price >= least * (1 - 1e-9)) found.push({ gpus, price });
      return found.length <= MOST_CLUSTERS;
    }
    for (let n = 0; n <= (available[k] as number); n++) {
      const so = price + n * (unitCost[k] as number);
      if (so >= most * (1 - 1e-9)) break;
      if (!extend([...gpus, n], so)) return false;
    }
    return true;
  };
  if (!extend([], 0)) return undefined;
  return found.sort((a, b) => a.price - b.price);
}
