/**
 * Load: arrival processes, loads that change over time, mixes of models, traces.
 *
 * In go a process, a load and a seeded stream, or a trace's text; out come arrivals in integer nanoseconds since the start, one
 * at a time. It knows no clock and no files.
 */
export { type ArrivalOptions, arrivals, arrivalTimes } from './arrivals.js';
export {
  ARRIVAL_PROCESSES,
  type ArrivalProcess,
  DrawnArrivals,
  type DrawnOptions,
  type GapSource,
} from './drawn-arrivals.js';
export { type Load, type LoadPhase, type MixPhase, mixedLoads, phasedLoad, steadyLoad } from './load.js';
export { mergedArrivals, sharedByWeight } from './mix.js';
export { type Arrivals, arrivalsAt } from './stream-of-arrivals.js';
export {
  type ArrivalTrace,
  type CountTrace,
  meanRps,
  peakRps,
  rescaledTrace,
  type Spread,
  type Trace,
  traceArrivals,
  traceDurationS,
} from './trace.js';
export { parseTrace, type TraceOptions, TraceReader } from './trace-reader.js';
