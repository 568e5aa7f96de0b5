const NS_PER_S = 1e9;

/** How requests arrive: memoryless, or evenly spaced. */
export const ARRIVAL_PROCESSES = ['poisson', 'uniform'] as const;
export type ArrivalProcess = (typeof ARRIVAL_PROCESSES)[number];

/** Where a memoryless process draws its gaps: a Stream of src/random is one. */
interface GapSource {
  /** Exponential with mean 1. */
  exponential(): number;
}

export interface ArrivalOptions {
  process: ArrivalProcess;
  /** Mean rate, requests per second; > 0. */
  rps: number;
  /** Arrivals lie in [0, durationS). */
  durationS: number;
  /** Drawn from by the Poisson process only. */
  stream: GapSource;
}

/**
 * Arrival times in integer nanoseconds since the start, ascending, one at a time: constant memory.
 * Poisson: the first arrival comes one gap after 0; times are summed before they are rounded, so that rounding shifts no rate.
 * Uniform: arrival i at i/rps.
 * @throws RangeError where the rate or the duration is not positive
 */
export function* arrivals(options: ArrivalOptions): Generator<number, void, undefined> {
  const { process, rps, durationS, stream } = options;
  if (!(rps > 0 && Number.isFinite(rps)))
    throw new RangeError(`Cannot draw arrivals: the rate ${rps} is not positive`);
  if (!(durationS > 0 && Number.isFinite(durationS))) {
    throw new RangeError(`Cannot draw arrivals: the duration ${durationS} is not positive`);
  }
  const endNs = durationS * NS_PER_S;
  const gapNs = NS_PER_S / rps;
  let exact = process === 'poisson' ? gapNs * stream.exponential() : 0;
  for (let i = 1; Math.round(exact) < endNs; i++) {
    yield Math.round(exact);
    exact = process === 'poisson' ? exact + gapNs * stream.exponential() : i * gapNs;
  }
}

/** All arrival times of `arrivals` at once: 8 bytes each. */
export function arrivalTimes(options: ArrivalOptions): Float64Array {
  let times = new Float64Array(64);
  let count = 0;
  for (const time of arrivals(options)) {
    if (count === times.length) {
      const longer = new Float64Array(2 * count);
      longer.set(times);
      times = longer;
    }
    times[count++] = time;
  }
  return times.slice(0, count);
}
