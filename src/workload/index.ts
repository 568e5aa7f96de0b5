/**
 * This room makes arrivals: from arrival processes, loads that change over time, mixes of models, and traces.
 *
 * It takes a process, a load and a seeded stream, or the text of a trace. It gives arrivals in integer nanoseconds
 * since the start, one at a time; and what requests of workflows do, replayed or drawn from chains. It reads no clock
 * and no files. Start reading at `arrivals.ts`, then `trace.ts` and `workflow-requests.ts`.
 */
export { type ArrivalOptions, arrivals, arrivalTimes } from './arrivals.js';
export { arrivalsAhead } from './arrivals-ahead.js';
export {
  ARRIVAL_PROCESSES,
  type ArrivalProcess,
  DrawnArrivals,
  type DrawnOptions,
  type GapSource,
  variationFault,
} from './drawn-arrivals.js';
export { type Load, type LoadPhase, type MixPhase, mixedLoads, phasedLoad, steadyLoad } from './load.js';
export { mergedArrivals, sharedByWeight } from './mix.js';
export { drawnLevels, type PriorityShare, priorityShares, prioritySharesText } from './priority-shares.js';
export { type Arrivals, arrivalsAt } from './stream-of-arrivals.js';
export {
  type ArrivalTrace,
  type CountTrace,
  leftOutNotes,
  leftOutOf,
  meanRps,
  peakRpsTogether,
  requestsInTrace,
  rescaledTrace,
  type Spread,
  type Trace,
  traceArrivals,
  traceDurationS,
} from './trace.js';
export {
  countedTrace,
  drawnTrace,
  MOST_LINES,
  type Reshape,
  reshapedTrace,
} from './trace-change.js';
export { parseTrace, type TraceOptions, TraceReader } from './trace-reader.js';
export { busiestSpan, slicedTrace, type TraceSpan } from './trace-slice.js';
export {
  type GapSummary,
  type IntervalSummary,
  longestIntervalS,
  summarizeTrace,
  type TraceSummary,
  type WindowSummary,
} from './trace-summary.js';
export { traceText } from './trace-text.js';
export { windowsOf } from './trace-windows.js';
export { chainFaults, chainNotes, edgesOf, expectedCalls, expectedRows } from './workflow-chain.js';
export { type NumberAt, type RequestSource, type RunOfRequest, runsOfRequests } from './workflow-requests.js';
export { type DrawnRun, RunsOfChain, type UniformDraws } from './workflow-runs.js';
