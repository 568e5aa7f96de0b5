import { atOnce, sorted } from '../collections/index.js';
import { type LatencySummary, rankOf } from './percentiles.js';

/** Values adds up values of at least 0 and gives their quantiles. It is a Histogram, or ExactValues. */
export interface Values {
  readonly count: number;
  readonly sum: number;
  readonly greatest: number;
  record(value: number): void;
  /** merge adds the values of another fold of the same kind. */
  merge(other: this): void;
  /**
   * quantile finds the p-quantile by nearest rank; it is undefined where there are no values.
   * @throws RangeError where p is not in [0, 1]
   */
  quantile(p: number): number | undefined;
  /** each tells all values with how many there are of each; a Histogram tells the middles of its buckets. */
  each(tell: (value: number, count: number) => void): void;
  clear(): void;
}

/**
 * ExactValues keeps every value at 8 bytes (up to 16 while it grows), for exact quantiles. It sorts when a
 * quantile is asked for. `clear` keeps the memory.
 */
export class ExactValues implements Values {
  private values = new Float64Array(256);
  /** `sorted` is how many values were sorted when a quantile was last asked for. */
  private sorted = 0;
  count = 0;
  sum = 0;
  greatest = 0;

  record(value: number): void {
    if (this.count === this.values.length) this.grow(2 * this.count);
    this.values[this.count] = value;
    this.count += 1;
    this.sum += value;
    if (value > this.greatest) this.greatest = value;
  }

  merge(other: ExactValues): void {
    const together = this.count + other.count;
    if (together > this.values.length) this.grow(together);
    this.values.set(other.values.subarray(0, other.count), this.count);
    this.count = together;
    this.sum += other.sum;
    this.greatest = Math.max(this.greatest, other.greatest);
  }

  quantile(p: number): number | undefined {
    if (this.count === 0) return undefined;
    const held = this.values.subarray(0, this.count);
    // Piece by piece, a thread can be ended meanwhile.
    if (this.sorted !== this.count) atOnce(sorted(held));
    this.sorted = this.count;
    return held[rankOf(p, this.count) - 1];
  }

  each(tell: (value: number, count: number) => void): void {
    for (let i = 0; i < this.count; i++) tell(this.values[i] as number, 1);
  }

  clear(): void {
    this.count = 0;
    this.sum = 0;
    this.greatest = 0;
    this.sorted = 0;
  }

  private grow(capacity: number): void {
    const longer = new Float64Array(capacity);
    longer.set(this.values.subarray(0, this.count));
    this.values = longer;
  }
}

/**
 * summaryOf summarizes values in units of `unit` (1e6 turns nanoseconds into milliseconds).
 * @returns undefined where there are no values
 */
export function summaryOf(values: Values, unit: number): LatencySummary | undefined {
  const { count, sum, greatest } = values;
  if (count === 0) return undefined;
  const at = (p: number) => (values.quantile(p) as number) / unit;
  const mean = sum / count / unit;
  return { count, mean, p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99), max: greatest / unit };
}
