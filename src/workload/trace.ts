import { smallestOf } from '../collections/index.js';
import { InputError, NS_PER_S } from '../formats/index.js';
import { DrawnArrivals, type DrawnOptions } from './drawn-arrivals.js';
import { loadOf } from './load.js';
import { type Arrivals, arrivalsAt } from './stream-of-arrivals.js';

/** Rounding to nanoseconds may change the rate of a trace by this part. */
const MOST_RATE_ERROR = 0.01;

/** Ends of intervals that are no further apart than this, and this part of the time before them, are one instant. */
const LEAST_APART_NS = 1;
const ROUNDING = 1e-12;

/** Trace is a recorded load. It says when each request came, or how many came in each interval. */
export type Trace = ArrivalTrace | CountTrace;

/** ArrivalTrace says when each request came. */
export interface ArrivalTrace {
  kind: 'arrivals';
  /** The format that it was read from. */
  format: string;
  /** Arrival times in integer nanoseconds since the start, ascending. */
  timesNs: Float64Array;
  /** This many requests of the file began before the trace, and are left out; absent where there are none. */
  begunBefore?: number;
  /** The length in whole nanoseconds of the window that it is of another trace; absent where it is no window. */
  windowNs?: number;
}

/** CountTrace says how many requests came in each of consecutive intervals, whose lengths are in seconds. */
export interface CountTrace {
  kind: 'counts';
  format: string;
  intervalS: Float64Array;
  /** The requests in each interval. They may be fractions after rescaling. */
  counts: Float64Array;
}

/**
 * meanRps gives the mean requests per second. For a trace of arrivals it is the gaps over the time from the
 * first to the last; for a window of one, the requests over its length; for counts, the requests over the sum of the
 * intervals.
 * @returns undefined where all requests came at one instant
 */
export function meanRps(trace: Trace): number | undefined {
  if (trace.kind === 'counts') return sum(trace.counts) / traceDurationS(trace);
  const { timesNs, windowNs } = trace;
  if (windowNs !== undefined) return windowNs > 0 ? (NS_PER_S * timesNs.length) / windowNs : undefined;
  const gaps = timesNs.length - 1;
  const spanNs = (timesNs[gaps] as number) - (timesNs[0] as number);
  return spanNs > 0 ? (NS_PER_S * gaps) / spanNs : undefined;
}

/**
 * peakRpsTogether gives the highest rate of traces that run at once, in requests per second: the highest sum of their
 * rates at any instant. That sum changes only where an interval ends, and ends that are apart by rounding alone are
 * one. Of one trace it is the rate in the fullest interval, which InferLine (section 6) rescales by.
 */
export function peakRpsTogether(traces: readonly CountTrace[]): number {
  const at = new Int32Array(traces.length);
  const endNs = traces.map(({ intervalS }) => NS_PER_S * (intervalS[0] ?? Number.POSITIVE_INFINITY));
  let most = 0;
  for (;;) {
    const nextNs = smallestOf(endNs);
    if (nextNs === Number.POSITIVE_INFINITY) return most;
    const sameUpToNs = nextNs + LEAST_APART_NS + ROUNDING * nextNs;
    let rps = 0;
    for (const [t, { counts, intervalS }] of traces.entries())
      rps += (counts[at[t]!] ?? 0) / (intervalS[at[t]!] ?? 1);
    most = Math.max(most, rps);
    for (const [t, { intervalS }] of traces.entries())
      if (endNs[t]! <= sameUpToNs) endNs[t]! += NS_PER_S * (intervalS[++at[t]!] ?? Number.POSITIVE_INFINITY);
  }
}

/**
 * rescaledTrace gives a copy of a trace with another rate and the same shape. Arrivals move closer together or
 * further apart; counts grow or shrink in the same intervals, and may become fractions.
 * @param to the mean rate, or for counts the peak rate, in requests per second
 * @throws InputError where the rate is not positive, the trace has no rate that could be changed (all arrivals at one
 *   instant, or a peak rate for arrivals), or arrivals in whole nanoseconds cannot have the rate to within 1 %
 */
export function rescaledTrace(trace: Trace, to: { meanRps: number } | { peakRps: number }): Trace {
  const wanted = 'meanRps' in to ? to.meanRps : to.peakRps;
  const refuse = (message: string) => new InputError('rescale the trace', [{ path: '', message }]);
  if (!(wanted > 0 && Number.isFinite(wanted))) throw refuse(`the rate ${wanted} is not positive`);
  if (trace.kind === 'counts') {
    const factor = wanted / ('meanRps' in to ? (meanRps(trace) as number) : peakRpsTogether([trace]));
    return { ...trace, counts: trace.counts.map((count) => count * factor) };
  }
  if ('peakRps' in to) throw refuse('it has arrival times; a peak rate is that of a trace of counts');
  const rate = meanRps(trace);
  if (rate === undefined) throw refuse('all its requests come at one instant: it has no rate');
  const factor = rate / wanted;
  const rescaled = stretchedTrace(trace, factor);
  const reached = meanRps(rescaled) ?? Number.POSITIVE_INFINITY;
  if (Math.abs(reached - wanted) <= MOST_RATE_ERROR * wanted) return rescaled;
  throw refuse(`in whole nanoseconds, its ${trace.timesNs.length} requests cannot have the rate ${wanted}`);
}

/** stretchedTrace multiplies the times of a trace, and the length of its window, by a factor. */
export function stretchedTrace(trace: ArrivalTrace, factor: number): ArrivalTrace {
  const { timesNs, windowNs } = trace;
  return {
    ...trace,
    timesNs: timesNs.map((ns) => Math.round(ns * factor)),
    ...(windowNs === undefined ? {} : { windowNs: Math.round(windowNs * factor) }),
  };
}

/** Spread says how the requests of an interval are placed in it. Traces of arrivals do not need it. */
export type Spread = Pick<DrawnOptions, 'process' | 'stream'> & {
  /** The coefficient of variation of a gamma process. The default is 1. */
  cv?: number;
};

/**
 * traceArrivals gives the arrivals of a trace.
 * @param spread used for counts: with uniform every interval has exactly its count, each request in the
 *   middle of its share; with poisson and gamma the counts are means
 */
export function traceArrivals(trace: Trace, spread: Spread, model = 0): Arrivals {
  if (trace.kind === 'arrivals') return arrivalsAt(trace.timesNs, model);
  const { process, stream, cv = 1 } = spread;
  return new DrawnArrivals({ process, stream, model, load: countLoad(trace, cv), uniformOffset: 0.5 });
}

/** requestsInTrace gives the number of requests of a trace; a rescaled trace of counts may have parts of one. */
export function requestsInTrace(trace: Trace): number {
  return trace.kind === 'counts' ? sum(trace.counts) : trace.timesNs.length;
}

/** leftOutOf counts the requests of a trace's file that began before it, and are left out. */
export function leftOutOf(trace: Trace): number {
  return trace.kind === 'arrivals' ? (trace.begunBefore ?? 0) : 0;
}

/** leftOutNotes says how many requests of a trace's file began before it, where some did. */
export function leftOutNotes(begunBefore: number): string[] {
  if (begunBefore === 0) return [];
  return [
    `${begunBefore} requests of the trace began before it and are left out: of those, only the long ones are known`,
  ];
}

/**
 * traceDurationS gives the end of a trace in seconds: its last arrival, or the end of its window or of its last
 * interval. It adds up nanoseconds, which are whole numbers for most lengths: ten lengths of 0.1 s are then 1 s, and no
 * bit less.
 */
export function traceDurationS(trace: Trace): number {
  if (trace.kind === 'counts')
    return trace.intervalS.reduce((ns, lengthS) => ns + NS_PER_S * lengthS, 0) / NS_PER_S;
  return (trace.windowNs ?? (trace.timesNs.at(-1) as number)) / NS_PER_S;
}

function countLoad(trace: CountTrace, cv: number) {
  return loadOf(
    Array.from(trace.counts, (count, i) => {
      const lengthS = trace.intervalS[i] as number;
      const level = { rps: count / lengthS, cv };
      return { lengthS, from: level, to: level };
    }),
  );
}

function sum(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0);
}
