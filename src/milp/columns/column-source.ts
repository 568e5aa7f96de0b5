import type { Slot } from '../tables/index.js';
import type { Column, ColumnSet } from './columns.js';

/** What a GPU of each class is worth, and what it is worth to a model that a pipeline uses a class (minimum shares). */
export interface ColumnPrices {
  /** By class index; at least 0. */
  readonly perGpu: ArrayLike<number>;
  /** By class index: subtracted once from the price of a column that uses the class. */
  readonly perUse: ArrayLike<number>;
}

export interface PricedColumn {
  readonly column: Column;
  /** Price of one request per second. */
  readonly price: number;
}

/** Where the columns of one model come from: a list of all of them, or exact pricing. */
export interface ColumnSource {
  /**
   * The price of the cheapest column there is, or `known` where none is cheaper than that: at most the true least price.
   * Infinity where the model has no column and nothing is known.
   */
  cheapest(prices: ColumnPrices, known: number): number;
  /** At most `count` columns cheaper than `below`, cheapest first; ties in the source's own order. */
  cheaperThan(below: number, prices: ColumnPrices, count: number): PricedColumn[];
  /** At most `count` of the cheapest. Prices that differ by rounding are the same: ties in the source's own order. */
  cheapestOf(prices: ColumnPrices, count: number): PricedColumn[];
}

/** All columns, listed; pricing is a scan over flat arrays. */
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
    for (let c = 0; c < this.prices.length; c++) if ((this.prices[c] as number) < below) found.push(c);
    found.sort((a, b) => (this.prices[a] as number) - (this.prices[b] as number) || a - b);
    return found.slice(0, count).map((c) => this.priced(c));
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
    const anyUse = Array.from(perUse).some((bonus) => bonus !== 0);
    for (let c = 0; c < set.count; c++) {
      let price = 0;
      let seen = 0;
      const first = c * set.width;
      const end = first + (set.parts[c] as number);
      for (let at = first; at < end; at++) {
        const k = classOf[set.slots[at] as number] as number;
        price += (perGpu[k] as number) * (set.gpusPerRps[at] as number);
        if (anyUse && (seen & (1 << k)) === 0) {
          seen |= 1 << k;
          price -= perUse[k] as number;
        }
      }
      prices[c] = price;
    }
  }
}

/** Steps of a round that prices all columns that are listed; what is priced by labels counts its own. */
export function roundSteps(sources: readonly ColumnSource[]): number {
  return sources.reduce(
    (sum, source) => sum + (source instanceof ListedColumns ? 2 * source.set.count * source.set.width : 0),
    0,
  );
}
