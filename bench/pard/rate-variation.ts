import { mean, standardDeviation } from 'simple-statistics';

/** A rate is the mean over so many seconds: shorter than scaling and queues take, and longer than batches. */
const SMOOTHED_S = 5;

/**
 * smoothedRates gives the rate around each second of a load from its counts per second: the mean over the five seconds of
 * which it is the middle one, and over those that there are at the ends.
 */
export function smoothedRates(counts: ArrayLike<number>): Float64Array {
  const upTo = new Float64Array(counts.length + 1);
  for (let i = 0; i < counts.length; i++) upTo[i + 1] = (upTo[i] as number) + (counts[i] as number);
  const half = (SMOOTHED_S - 1) / 2;
  return Float64Array.from({ length: counts.length }, (_, i) => {
    const [from, to] = [Math.max(0, i - half), Math.min(counts.length, i + half + 1)];
    return ((upTo[to] as number) - (upTo[from] as number)) / (to - from);
  });
}

/** rateVariation is the CV of the rate over time: that of the smoothed rates of all seconds. */
export function rateVariation(counts: ArrayLike<number>): number {
  return variationOf(Array.from(smoothedRates(counts)));
}

/** variationOf is the standard deviation of some values over their mean. */
export function variationOf(values: readonly number[]): number {
  return standardDeviation([...values]) / mean([...values]);
}
