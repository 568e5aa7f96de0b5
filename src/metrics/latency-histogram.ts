import type { LatencyHistogram } from '../formats/index.js';
import type { Values } from './values.js';

/** The steps of a power of ten, as in Renard's series R10: each bound is about a quarter above the one before. */
const STEPS = [1, 1.25, 1.6, 2, 2.5, 3.15, 4, 5, 6.3, 8];
/** Bounds go from a microsecond, 1e-3 ms, to past the longest run, 1e10 ms. */
const LEAST_POWER = -3;
const MOST_POWER = 10;

const POWERS = Array.from({ length: MOST_POWER - LEAST_POWER }, (_, i) => LEAST_POWER + i);
/** The bounds in milliseconds and in nanoseconds, each as it is written in decimals; the first is 0. */
const BOUNDS_MS = [0, ...boundsOf(0)];
const BOUNDS_NS = Float64Array.from([0, ...boundsOf(6)]);

function boundsOf(shift: number): number[] {
  return POWERS.flatMap((power) => STEPS.map((step) => Number(`${step}e${power + shift}`)));
}

/**
 * latencyHistogram counts latencies, which are in nanoseconds, between the fixed bounds. Buckets before the first and
 * after the last latency are left out.
 * @returns undefined where there are no values
 */
export function latencyHistogram(values: Values): LatencyHistogram | undefined {
  if (values.count === 0) return undefined;
  const counts = new Array<number>(BOUNDS_NS.length).fill(0);
  let bucket = 0;
  values.each((ns, count) => {
    // Values come in groups of about the same size, so the search goes on from the bucket of the last one.
    while (bucket > 0 && ns < (BOUNDS_NS[bucket] as number)) bucket -= 1;
    while (bucket + 2 < BOUNDS_NS.length && ns >= (BOUNDS_NS[bucket + 1] as number)) bucket += 1;
    counts[bucket]! += count;
  });
  const first = counts.findIndex((count) => count > 0);
  const last = counts.findLastIndex((count) => count > 0);
  return { boundsMs: BOUNDS_MS.slice(first, last + 2), counts: counts.slice(first, last + 1) };
}
