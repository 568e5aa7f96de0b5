import { type ArrivalProcess, DrawnArrivals, type GapSource } from './drawn-arrivals.js';
import { steadyLoad } from './load.js';

export interface ArrivalOptions {
  process: ArrivalProcess;
  /** Mean rate, requests per second; > 0. */
  rps: number;
  /** Arrivals lie in [0, durationS). */
  durationS: number;
  /** Coefficient of variation of the gaps of a gamma process. Default 1. */
  cv?: number;
  /** Not drawn from by the uniform process. */
  stream: GapSource;
}

/**
 * Arrival times in integer nanoseconds since the start, ascending, one at a time: constant memory.
 * Poisson and gamma: the first arrival comes one gap after 0. Uniform: arrival i at i/rps.
 * @throws InputError where the rate or the duration is not positive, or the coefficient of variation negative
 */
export function* arrivals(options: ArrivalOptions): Generator<number, void, undefined> {
  const { process, rps, durationS, cv, stream } = options;
  const drawn = new DrawnArrivals({ process, load: steadyLoad(rps, durationS, cv), stream });
  while (drawn.next()) yield drawn.atNs;
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
