import type { MasterResult } from '../../master/index.js';
import { settledShares, type UsedColumn, usedRps } from '../../plan/index.js';
import type { ModelTable } from '../../tables/index.js';
import { STOP_EVERY, type Stop } from '../../work.js';
import { type ModelGrid, topped, unitTable, type WholeGpuTable } from '../grid/index.js';
import { offersOf, sumsOf } from './divide-by-weight.js';
import { amountsOf, fits, MOST_PAIRS } from './division.js';

/** MinShare is a class through which at least a part of a model's throughput must run. */
export interface MinShare {
  readonly classIndex: number;
  /** The part, above 0 and at most 1. */
  readonly share: number;
}

/** minSharesOf gives a model's minimum shares, by class. */
export function minSharesOf({ minShare }: Pick<ModelTable, 'minShare'>): MinShare[] {
  return Array.from(minShare, (share, classIndex) => ({ classIndex, share })).filter(
    ({ share }) => share > 0,
  );
}

/** heldToShares holds back columns, each at what its GPUs serve, until every model's minimum shares are kept. */
export function heldToShares(
  used: readonly UsedColumn[],
  tables: readonly ModelTable[],
): readonly UsedColumn[] {
  const isShared = tables.map((table) => minSharesOf(table).length > 0);
  if (!isShared.includes(true)) return used;
  const rated = used.map((one) => (isShared[one.column.model] ? { ...one, rps: usedRps(one) } : one));
  return settledShares(rated, tables);
}

/**
 * The price of the other columns is not below this part of the model's own. Where the LP has no use for them, theirs
 * would be 0 or less, and a table has no unit for its losses then. A higher price makes losses smaller, so it leaves
 * out less, and no column is cheaper.
 */
const LEAST_PRICE = 1e-3;

/** SharePrices are the prices of one request per second of a model with one minimum share. */
interface SharePrices {
  /** The price of one that counts: any, if the share is kept. */
  readonly all: number;
  readonly using: number;
  readonly others: number;
}

/**
 * sharePrices gives a price of the columns that use the class, and one of the others. Let π be the model's price, ν
 * that of its minimum share σ, and x what columns using the class and y what the others serve. As no column is cheaper
 * than π with what it pays and gets back for the share, columns that use the class cost at least π + ν(1 − σ), and the
 * others π − νσ. Both together are worth π(x + y) + ν(x − σ(x + y)), and the last term is not negative. So a plan's
 * distance from the bound is at least what its columns lose at these two prices, and what both lose at π.
 */
export function sharePrices(
  { modelPrices, usePrices }: Pick<MasterResult, 'modelPrices' | 'usePrices'>,
  model: number,
  { classIndex, share }: MinShare,
): SharePrices {
  const all = modelPrices[model] as number;
  const use = usePrices[model]?.[classIndex] ?? 0;
  return { all, using: all + use * (1 - share), others: Math.max(all - use * share, LEAST_PRICE * all) };
}

/** ShareOptions says how two tables are joined. */
interface ShareOptions {
  /** The part of the throughput that must run through the columns that use the class. */
  readonly share: number;
  /** The price of a GPU by class, in the model's requests per second. */
  readonly gpuPrices: readonly number[];
  /** A state that loses more is not kept; Infinity keeps all. */
  readonly budget: number;
  readonly stop: Stop;
}

/**
 * ShareTable holds the highest rate of a model with one minimum share for every amount of GPUs. Any plan of it is one of
 * columns that use the class, on some GPUs, and one of the others, on more GPUs. If the first serves x and the second y,
 * the model is served min(x + y, x / share): the others are held back where x is too little. That never falls as x or y
 * grows, so the highest rates of both kinds are all that is needed. All pairs of states are tried within the budget.
 */
export class ShareTable {
  /** The highest rates, in the units of the grids. `at` names the state to ask `columnsAt` for. */
  readonly table: WholeGpuTable;
  /** stopped is true if `stop` ended it, or there are too many pairs of states; the table then proves nothing. */
  readonly stopped: boolean;
  private readonly own: WholeGpuTable;
  private readonly other: WholeGpuTable;
  /** The state of the columns that use the class, by the state of both. */
  private readonly usingAt: Int32Array;

  /** @param using the model's columns that use the class; @param others the other ones, on the same grid */
  constructor(
    private readonly using: ModelGrid,
    private readonly others: ModelGrid,
    private readonly options: ShareOptions,
  ) {
    this.own = unitTable(using);
    this.other = unitTable(others);
    const { counts, strides, states } = this.own;
    const rps = new Float64Array(states);
    this.usingAt = new Int32Array(states);
    this.stopped = !this.join(rps);
    const best = topped({ ...this.own, rps });
    this.table = { counts, strides, states, rps: best.rps, at: best.from };
  }

  /** columnsAt gives the columns of a state's plan, each at what its GPUs serve. */
  columnsAt(u: number): UsedColumn[] {
    const p = this.usingAt[u] as number;
    return [
      ...this.using.columnsAt(this.own.at[p] as number),
      ...this.others.columnsAt(this.other.at[u - p] as number),
    ];
  }

  /**
   * join tries all pairs of states.
   * @returns false if it was stopped
   */
  private join(best: Float64Array): boolean {
    const { own, other, usingAt } = this;
    const { share, gpuPrices, budget, stop } = this.options;
    const amounts = amountsOf(own);
    const { perGpu } = this.using.grid;
    const worth = sumsOf(
      amounts,
      gpuPrices.map((price) => price / perGpu),
    );
    const first = offersOf(own, worth);
    const second = offersOf(other, worth);
    if (first.states.length * second.states.length > MOST_PAIRS) return false;
    let steps = 0;
    for (const [i, p] of first.states.entries()) {
      const x = first.rps[i] as number;
      const most = x / share;
      const room = budget + most - (worth[p] as number);
      for (let j = 0; j < second.states.length; j++) {
        const q = second.states[j] as number;
        if ((worth[q] as number) > room) break;
        steps++;
        const to = p + q;
        if (to >= own.states) continue;
        const rps = Math.min(x + (second.rps[j] as number), most);
        if (rps <= (best[to] as number) || !fits(amounts, own.counts, p, q)) continue;
        best[to] = rps;
        usingAt[to] = p;
      }
      if (++steps < STOP_EVERY) continue;
      if (stop(steps)) return false;
      steps = 0;
    }
    return true;
  }
}
