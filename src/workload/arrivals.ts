import { type ArrivalProcess, DrawnArrivals, type GapSource } from './drawn-arrivals.js';
import { steadyLoad } from './load.js';

/** ArrivalOptions describes arrivals at a steady rate. */
export interface ArrivalOptions {
  process: ArrivalProcess;
  /** The mean rate in requests per second; > 0. */
  rps: number;
  /** The duration in seconds. Arrivals lie in [0, durationS). */
  durationS: number;
  /** The coefficient of variation of the times between arrivals, for a gamma process. The default is 1. */
  cv?: number;
  /** The source of random gaps. The uniform process does not draw from it. */
  stream: GapSource;
}

/**
 * arrivals generates arrival times one at a time, in constant memory. Times are integer nanoseconds since the
 * start, ascending. With poisson and gamma the first arrival comes one gap after 0; with uniform, arrival i
 * comes at i/rps.
 * @throws InputError, when the first time is asked for, where the rate or the duration is not positive, or the
 *   coefficient of variation is negative
 */
export function* arrivals(options: ArrivalOptions): Generator<number, void, undefined> {
  const { process, rps, durationS, cv, stream } = options;
  const drawn = new DrawnArrivals({ process, load: steadyLoad(rps, durationS, cv), stream });
  while (drawn.next()) yield drawn.atNs;
}

/** arrivalTimes gives all times that `arrivals` would generate, at 8 bytes each, or throws what it throws. */
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
