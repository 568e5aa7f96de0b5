import { rankOf } from './percentiles.js';
import type { Values } from './values.js';

/** The number of buckets in each octave, as a power of two. */
const BITS = 8;
const PER_OCTAVE = 1 << BITS;
const SHIFT = 20 - BITS;

/** The largest relative error of a quantile: half a bucket. */
export const HISTOGRAM_RELATIVE_ERROR = 2 ** -(BITS + 1);

// A double's exponent and the first bits of its mantissa number the bucket, so that no logarithm is needed.
const asDouble = new Float64Array(1);
const asWords = new Uint32Array(asDouble.buffer);
const HIGH = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1 ? 1 : 0;
const LOW = 1 - HIGH;

/**
 * Histogram counts values in buckets whose width grows with the value, as HdrHistogram and DDSketch do.
 * Quantiles are within HISTOGRAM_RELATIVE_ERROR; count, mean, minimum and maximum are exact. It takes 2 KB
 * for each octave between the smallest and the largest value, however many values there are. Recording takes
 * a few nanoseconds and allocates only when the range grows.
 *
 * We wrote our own because it is small: hdr-histogram-js 3 brings a WebAssembly build, pako and base64-js for
 * a wire format that nothing here uses, and the range of its counts has to be known beforehand.
 */
export class Histogram implements Values {
  private counts = new Float64Array(0);
  /** The bucket that counts[0] counts. */
  private first = 0;
  private zeros = 0;
  count = 0;
  sum = 0;
  least = Number.POSITIVE_INFINITY;
  greatest = 0;

  /**
   * record counts one value.
   * @param value a whole number from 0 to 2^53
   */
  record(value: number): void {
    this.count += 1;
    this.sum += value;
    if (value < this.least) this.least = value;
    if (value > this.greatest) this.greatest = value;
    if (value < 1) {
      this.zeros += 1;
      return;
    }
    asDouble[0] = value;
    const bucket = (asWords[HIGH] as number) >>> SHIFT;
    let at = bucket - this.first;
    if (at < 0 || at >= this.counts.length) {
      this.cover(bucket, bucket + 1);
      at = bucket - this.first;
    }
    this.counts[at]! += 1;
  }

  /** merge adds the values of another histogram. The sum is the same in every order, up to rounding. */
  merge(other: Histogram): void {
    this.count += other.count;
    this.sum += other.sum;
    this.zeros += other.zeros;
    this.least = Math.min(this.least, other.least);
    this.greatest = Math.max(this.greatest, other.greatest);
    if (other.counts.length === 0) return;
    this.cover(other.first, other.first + other.counts.length);
    const shift = other.first - this.first;
    for (let i = 0; i < other.counts.length; i++) this.counts[i + shift]! += other.counts[i] as number;
  }

  /**
   * quantile finds the p-quantile by nearest rank (docs/metrics.md).
   * @returns undefined where there are no values
   * @throws RangeError where p is not in [0, 1] and there are values
   */
  quantile(p: number): number | undefined {
    if (this.count === 0) return undefined;
    const rank = rankOf(p, this.count);
    if (rank === this.count) return this.greatest;
    let seen = this.zeros;
    if (rank <= seen) return 0;
    for (let i = 0; i < this.counts.length; i++) {
      seen += this.counts[i] as number;
      if (seen >= rank) return this.middleAt(i);
    }
    return this.greatest;
  }

  each(tell: (value: number, count: number) => void): void {
    if (this.zeros > 0) tell(0, this.zeros);
    for (let i = 0; i < this.counts.length; i++) {
      const count = this.counts[i] as number;
      if (count > 0) tell(this.middleAt(i), count);
    }
  }

  clear(): void {
    this.counts.fill(0);
    this.zeros = 0;
    this.count = 0;
    this.sum = 0;
    this.least = Number.POSITIVE_INFINITY;
    this.greatest = 0;
  }

  /** middleAt is the middle of the bucket that counts[i] counts, within the least and the greatest value. */
  private middleAt(i: number): number {
    return Math.min(Math.max(middleOf(this.first + i), this.least), this.greatest);
  }

  /** cover makes room for the buckets from `from` to before `until`, in whole octaves. */
  private cover(from: number, until: number): void {
    const empty = this.counts.length === 0;
    const low = Math.min(Math.floor(from / PER_OCTAVE) * PER_OCTAVE, empty ? from : this.first);
    const end = Math.max(
      Math.ceil(until / PER_OCTAVE) * PER_OCTAVE,
      empty ? 0 : this.first + this.counts.length,
    );
    const wider = new Float64Array(end - low);
    if (!empty) wider.set(this.counts, this.first - low);
    this.counts = wider;
    this.first = low;
  }
}

/** middleOf gives the middle of the whole numbers that a bucket holds. */
function middleOf(bucket: number): number {
  const low = lowerBoundOf(bucket);
  return low + Math.max(0, (lowerBoundOf(bucket + 1) - low - 1) / 2);
}

function lowerBoundOf(bucket: number): number {
  asWords[LOW] = 0;
  asWords[HIGH] = bucket << SHIFT;
  return asDouble[0] as number;
}
