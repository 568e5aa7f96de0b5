/**
 * Levels are the certainties of a model that distinguish its samples. Every threshold divides the samples like one of them:
 * those of a lower rank than the threshold's go on.
 */
export interface Levels {
  /** The certainties, each once and ascending. */
  readonly values: Float64Array;
  /** The place of each sample's certainty in `values`. */
  readonly ranks: Int32Array;
  /** The samples by rank. */
  readonly order: Int32Array;
}

/** levelsOf finds the levels of a model's certainties, in time n·log n. */
export function levelsOf(certainty: Float64Array): Levels {
  const sorted = certainty.toSorted();
  const values = new Float64Array(sorted.length);
  let count = 0;
  for (const value of sorted)
    if (count === 0 || value > (values[count - 1] as number)) values[count++] = value;
  const distinct = values.slice(0, count);
  const ranks = Int32Array.from(certainty, (value) => placeOf(distinct, value));
  return { values: distinct, ranks, order: byRank(ranks, count) };
}

function placeOf(values: Float64Array, value: number): number {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((values[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function byRank(ranks: Int32Array, count: number): Int32Array {
  const starts = new Int32Array(count + 1);
  for (const rank of ranks) starts[rank + 1]! += 1;
  for (let rank = 0; rank < count; rank++) starts[rank + 1]! += starts[rank] as number;
  const order = new Int32Array(ranks.length);
  for (let sample = 0; sample < ranks.length; sample++) order[starts[ranks[sample] as number]!++] = sample;
  return order;
}

/** Thresholds are some thresholds of a model by their ranks, ascending, and divides the samples into bins between them. */
export interface Thresholds {
  readonly thresholds: Int32Array;
  /** isWhole says whether no other threshold divides the samples otherwise. */
  readonly isWhole: boolean;
  /** How many of the thresholds each sample is not below. */
  readonly bins: Int32Array;
}

/**
 * thresholdsOf takes at most a given number of thresholds: all where they are few, else quantiles of the certainties.
 * The threshold below which nothing is would be no step, and is left out.
 */
export function thresholdsOf({ values, ranks, order }: Levels, most: number): Thresholds {
  const all = values.length - 1;
  const isWhole = all <= most;
  const quantiles = (_: unknown, i: number) =>
    ranks[order[Math.floor(((i + 1) * order.length) / (most + 1))] as number] as number;
  const thresholds = isWhole
    ? Int32Array.from({ length: all }, (_, i) => i + 1)
    : Int32Array.from(new Set(Array.from({ length: most }, quantiles).filter((rank) => rank > 0)));
  const binOf = new Int32Array(values.length);
  let bin = 0;
  for (let rank = 0; rank < values.length; rank++) {
    while (bin < thresholds.length && (thresholds[bin] as number) <= rank) bin++;
    binOf[rank] = bin;
  }
  return { thresholds, isWhole, bins: ranks.map((rank) => binOf[rank] as number) };
}
