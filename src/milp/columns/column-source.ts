import type { Slot } from '../tables/index.js';
import type { Column, ColumnSet } from './columns.js';

/**
 * ColumnPrices holds the price of a GPU of each class, and what it is worth to a model that a pipeline uses a class
 * (minimum shares).
 */
export interface ColumnPrices {
  /** The price of a GPU by class index, at least 0. */
  readonly perGpu: ArrayLike<number>;
  /** The refund by class index. A column that uses the class is cheaper by it, once. */
  readonly perUse: ArrayLike<number>;
}

/** PricedColumn is a column with what it costs at given prices of GPUs. */
export interface PricedColumn {
  readonly column: Column;
  /** The price of one request per second. */
  readonly price: number;
}

/** ColumnSource is where the columns of one model come from: a list of all of them, or exact pricing. */
export interface ColumnSource {
  /**
   * cheapest is the price of the cheapest column, or `known` if no column is cheaper. It is at most the true least
   * price, and Infinity if the model has no column and no price is known.
   */
  cheapest(prices: ColumnPrices, known: number): number;
  /**
   * cheaperThan gives at most `count` columns that cost less than `below`, the cheapest first. Ties are in the
   * source's own order. A source that prices may leave out columns that are like others or far dearer than the best.
   */
  cheaperThan(below: number, prices: ColumnPrices, count: number): PricedColumn[];
  /**
   * cheapestOf gives at most `count` cheap columns, the cheapest first. If the source is a list, they are the cheapest
   * of all, and prices that differ by rounding are ties, in the list's order.
   */
  cheapestOf(prices: ColumnPrices, count: number): PricedColumn[];
}

/**
 * ListedColumns holds all columns of a model; each pricing is a scan over all of them. `cheapestOf` takes prices that
 * are equal in single precision for ties.
 */
export class ListedColumns implements ColumnSource {
  private readonly prices: Float64Array;

  constructor(readonly set: ColumnSet) {
    this.prices = new Float64Array(set.count);
  }

  cheapest(prices: ColumnPrices, known: number): number {
    this.scan(prices);
    let best = known;
    for (const price of this.prices) if (price < best) best = price;
    return best;
  }

  cheaperThan(below: number, prices: ColumnPrices, count: number): PricedColumn[] {
    this.scan(prices);
    const found: number[] = [];
    let worst = below;
    for (let c = 0; c < this.prices.length; c++) {
      if (!((this.prices[c] as number) < worst)) continue;
      this.insert(c, found);
      if (found.length > count) found.pop();
      if (found.length === count) worst = Math.min(below, this.prices[found[count - 1] as number] as number);
    }
    return found.map((c) => this.priced(c));
  }

  /** insert puts a column behind those that cost as much, so that few are moved where few are kept. */
  private insert(c: number, found: number[]): void {
    const price = this.prices[c] as number;
    let at = found.push(c) - 1;
    while (at > 0 && (this.prices[found[at - 1] as number] as number) > price) {
      found[at] = found[at - 1] as number;
      at--;
    }
    found[at] = c;
  }

  cheapestOf(prices: ColumnPrices, count: number): PricedColumn[] {
    this.scan(prices);
    const ranks = Float32Array.from(this.prices);
    const all = Array.from(ranks.keys());
    all.sort((a, b) => (ranks[a] as number) - (ranks[b] as number) || a - b);
    return all.slice(0, count).map((c) => this.priced(c));
  }

  private priced(c: number): PricedColumn {
    return { column: this.set.column(c), price: this.prices[c] as number };
  }

  private scan({ perGpu, perUse }: ColumnPrices): void {
    const { set, prices } = this;
    const classOf = Uint16Array.from(set.table.slots, (slot: Slot) => slot.classIndex);
    const bits = useBits(perUse);
    for (let c = 0; c < set.count; c++) {
      let price = 0;
      let seen = 0;
      const first = c * set.width;
      const end = first + (set.parts[c] as number);
      for (let at = first; at < end; at++) {
        const k = classOf[set.slots[at] as number] as number;
        price += (perGpu[k] as number) * (set.gpusPerRps[at] as number);
        if (((bits[k] as number) & ~seen) !== 0) {
          seen |= bits[k] as number;
          price -= perUse[k] as number;
        }
      }
      prices[c] = price;
    }
  }
}

/**
 * useBits gives a bit of its own to each class whose use is worth something, and 0 to the others. There are 32 bits;
 * `resolvePooled` refuses a model that asks for shares of more classes.
 */
export function useBits(perUse: ArrayLike<number>): Int32Array {
  let bit = 0;
  return Int32Array.from(perUse, (worth) => (worth === 0 ? 0 : 1 << bit++));
}

/**
 * roundSteps is the number of steps (see `Stop`) of a round that prices all listed columns twice: one per partition
 * that a column may have. Pricing by labels counts its own steps, so its sources count 0 here.
 */
export function roundSteps(sources: readonly ColumnSource[]): number {
  return sources.reduce(
    (sum, source) => sum + (source instanceof ListedColumns ? 2 * source.set.count * source.set.width : 0),
    0,
  );
}
