/**
 * quantileOfSorted finds the p-quantile by nearest rank: the ⌈p·n⌉-th smallest value, exactly
 * (docs/metrics.md).
 * @param sorted values in ascending order
 * @param p in [0, 1]; 0 gives the smallest
 * @returns undefined where there are no values
 * @throws RangeError where p is not in [0, 1]
 */
export function quantileOfSorted(sorted: ArrayLike<number>, p: number): number | undefined {
  return sorted[rankOf(p, sorted.length) - 1];
}

/** rankOf gives the rank of the p-quantile among n values, from 1 on. @throws RangeError where p is not in [0, 1] */
export function rankOf(p: number, n: number): number {
  if (!(p >= 0 && p <= 1)) throw new RangeError(`Cannot take a quantile: ${p} is not in [0, 1]`);
  // Rounding may put p·n a hair above the whole number that it is (0.07 · 100 = 7.000000000000001).
  return Math.max(Math.ceil(p * n - 1e-9), 1);
}

/** LatencySummary describes latencies in the unit that they were given in. */
export interface LatencySummary {
  count: number;
  mean: number;
  p50: number;
  p90: number;
  p95: number;
  p99: number;
  max: number;
}

/**
 * summarizeLatencies gives exact percentiles of values in any unit. It sorts a copy.
 * @returns undefined where there are no values
 */
export function summarizeLatencies(values: ArrayLike<number>): LatencySummary | undefined {
  const sorted = Float64Array.from(values).sort();
  if (sorted.length === 0) return undefined;
  const at = (p: number) => quantileOfSorted(sorted, p) as number;
  let sum = 0;
  for (const value of sorted) sum += value;
  const mean = sum / sorted.length;
  return { count: sorted.length, mean, p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99), max: at(1) };
}
