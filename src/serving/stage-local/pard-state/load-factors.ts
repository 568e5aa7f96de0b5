/** The intervals over which the load is smoothed, and over which its variation is measured. */
const SMOOTHED = 5;

/** LoadFactorOptions says how loads are judged, and how much can be served. */
export interface LoadFactorOptions {
  readonly intervalNs: number;
  readonly transition: Transition;
  /** Over how many intervals the load is smoothed. Default SMOOTHED. */
  readonly smoothed?: number | undefined;
  /** throughputRps is the rate that a pool can serve now, with the current batch on the devices that are up. */
  throughputRps(pool: number): number;
}

/** Transition says when the order of a stage's queues turns round (PARD §4.3). */
export type Transition = 'delayed' | 'instant';

/**
 * LoadFactors says for each pool whether more comes than it can serve: the load factor is T_in/T_m, where
 * T_in is the rate of the last interval. Where the transition is delayed, it must be beyond 1 ± ε, and ε is
 * how far the last rates were from their smoothed values, Σ|T_in − T_s|/ΣT_in (PARD §4.3).
 */
export class LoadFactors {
  private readonly intervalS: number;
  /** By pool and interval: its number, and the tasks that came in it. */
  private readonly interval: Float64Array;
  private readonly counts: Float64Array;
  private readonly overloaded: Uint8Array;
  private readonly factors: Float64Array;

  private readonly intervalNs: number;
  private readonly transition: Transition;
  private readonly smoothedOver: number;
  /** Intervals that are kept: the mean of each of the last that are smoothed needs as many before it. */
  private readonly kept: number;

  constructor(
    private readonly pools: number,
    private readonly options: LoadFactorOptions,
  ) {
    const { intervalNs, transition, smoothed = SMOOTHED } = options;
    this.smoothedOver = smoothed;
    this.kept = 2 * smoothed;
    this.intervalNs = intervalNs;
    this.transition = transition;
    this.intervalS = intervalNs / 1e9;
    this.interval = new Float64Array(pools * this.kept).fill(-1);
    this.counts = new Float64Array(pools * this.kept);
    this.overloaded = new Uint8Array(pools);
    this.factors = new Float64Array(pools);
  }

  /** came reports that a task came to a pool. */
  came(at: number, pool: number): void {
    const interval = Math.floor(at / this.intervalNs);
    const place = pool * this.kept + (interval % this.kept);
    if (this.interval[place] !== interval) {
      this.interval[place] = interval;
      this.counts[place] = 0;
    }
    this.counts[place]! += 1;
  }

  /** isOverloaded returns whether a pool was found to have more work than time. */
  isOverloaded(pool: number): boolean {
    return this.overloaded[pool] === 1;
  }

  /** factorOf is the load factor of a pool in the last interval. */
  factorOf(pool: number): number {
    return this.factors[pool] as number;
  }

  /** decide judges all pools anew at the beginning of an interval. */
  decide(interval: number): void {
    for (let pool = 0; pool < this.pools; pool++) {
      const rate = this.countIn(pool, interval - 1) / this.intervalS;
      const factor = rate / this.options.throughputRps(pool);
      this.factors[pool] = factor;
      const margin = this.marginOf(pool, interval - 1);
      if (factor > 1 + margin) this.overloaded[pool] = 1;
      else if (factor < 1 - margin || this.transition === 'instant') this.overloaded[pool] = 0;
    }
  }

  private marginOf(pool: number, last: number): number {
    switch (this.transition) {
      case 'instant':
        return 0;
      case 'delayed':
        return this.variationOf(pool, last);
    }
  }

  /** variationOf is Σ|T_in − T_s|/ΣT_in over the last intervals, 0 where nothing came. */
  private variationOf(pool: number, last: number): number {
    let distance = 0;
    let sum = 0;
    for (let interval = Math.max(0, last - this.smoothedOver + 1); interval <= last; interval++) {
      const count = this.countIn(pool, interval);
      distance += Math.abs(count - this.smoothed(pool, interval));
      sum += count;
    }
    return sum === 0 ? 0 : distance / sum;
  }

  private smoothed(pool: number, last: number): number {
    const first = Math.max(0, last - this.smoothedOver + 1);
    let sum = 0;
    for (let interval = first; interval <= last; interval++) sum += this.countIn(pool, interval);
    return sum / (last - first + 1);
  }

  private countIn(pool: number, interval: number): number {
    const place = pool * this.kept + (interval % this.kept);
    return this.interval[place] === interval ? (this.counts[place] as number) : 0;
  }
}
