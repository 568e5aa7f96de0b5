/**
 * Arrival processes.
 *
 * In go a process, a rate, a duration and a seeded stream, out come arrival times in integer nanoseconds since the start.
 * It knows no clock and no files.
 */
export {
  ARRIVAL_PROCESSES,
  type ArrivalOptions,
  type ArrivalProcess,
  arrivals,
  arrivalTimes,
} from './arrivals.js';
export { type Arrivals, arrivalsAt } from './stream-of-arrivals.js';
