const BUCKETS = 50;

/**
 * RecentValues keeps values of each pool over a sliding window, in BUCKETS buckets by time, so that its memory does not follow
 * how many values there are. Adding takes constant time; a figure takes one step for each bucket.
 */
export class RecentValues {
  private readonly widthNs: number;
  /** By pool and bucket: the number of the bucket that is kept there, and the count, sum and greatest of its values. */
  private readonly bucket: Float64Array;
  private readonly counts: Float64Array;
  private readonly sums: Float64Array;
  private readonly greatest: Float64Array;

  /** @param windowNs at least BUCKETS ns */
  constructor(pools: number, windowNs: number) {
    this.widthNs = windowNs / BUCKETS;
    this.bucket = new Float64Array(pools * BUCKETS).fill(-1);
    this.counts = new Float64Array(pools * BUCKETS);
    this.sums = new Float64Array(pools * BUCKETS);
    this.greatest = new Float64Array(pools * BUCKETS);
  }

  /** add adds a value, which is not negative. Times never go back. */
  add(at: number, pool: number, value: number): void {
    const bucket = Math.floor(at / this.widthNs);
    const place = pool * BUCKETS + (bucket % BUCKETS);
    if (this.bucket[place] !== bucket) {
      this.bucket[place] = bucket;
      this.counts[place] = 0;
      this.sums[place] = 0;
      this.greatest[place] = 0;
    }
    this.counts[place]! += 1;
    this.sums[place]! += value;
    if (value > (this.greatest[place] as number)) this.greatest[place] = value;
  }

  /**
   * mean is the mean of the values in the window that ends at `at`. A value's weight falls linearly with the age of its bucket,
   * from 1 to 1/BUCKETS. It is 0 where there is none.
   */
  mean(at: number, pool: number): number {
    const last = Math.floor(at / this.widthNs);
    let count = 0;
    let sum = 0;
    for (let bucket = last - BUCKETS + 1; bucket <= last; bucket++) {
      const place = this.placeOf(pool, bucket);
      if (this.bucket[place] !== bucket) continue;
      const weight = (bucket - last + BUCKETS) / BUCKETS;
      count += weight * (this.counts[place] as number);
      sum += weight * (this.sums[place] as number);
    }
    return count === 0 ? 0 : sum / count;
  }

  /** most is the greatest value in the window that ends at `at`, 0 where there is none. */
  most(at: number, pool: number): number {
    const last = Math.floor(at / this.widthNs);
    let most = 0;
    for (let bucket = last - BUCKETS + 1; bucket <= last; bucket++) {
      const place = this.placeOf(pool, bucket);
      if (this.bucket[place] === bucket) most = Math.max(most, this.greatest[place] as number);
    }
    return most;
  }

  private placeOf(pool: number, bucket: number): number {
    return pool * BUCKETS + ((bucket + BUCKETS) % BUCKETS);
  }
}
