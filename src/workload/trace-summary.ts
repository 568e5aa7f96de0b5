import { meanRps, requestsInTrace, type Trace, traceDurationS } from './trace.js';
import { eachWindow } from './trace-windows.js';

const NS_PER_S = 1e9;

/** TraceSummary holds the figures of a trace. Rates are in requests per second. */
export interface TraceSummary {
  /** Whether it has arrival times, or counts per interval. */
  readonly kind: Trace['kind'];
  readonly format: string;
  readonly requests: number;
  /** The end of the trace: its last arrival, or the end of its last interval. */
  readonly durationS: number;
  /** The mean rate; absent where all requests came at one instant. */
  readonly meanRps?: number;
  readonly windows: WindowSummary;
  /** The times between arrivals; absent for counts, and for a single arrival. */
  readonly gaps?: GapSummary;
  /** The intervals; absent for arrivals. */
  readonly intervals?: IntervalSummary;
}

/** WindowSummary holds the figures of requests in windows of one length. */
export interface WindowSummary {
  readonly lengthS: number;
  readonly count: number;
  /** The windows without requests. */
  readonly empty: number;
  readonly peakRps: number;
  /** The start of the first window with the peak. */
  readonly peakFromS: number;
  /**
   * The variance of the requests in a window over their mean: 1 for Poisson arrivals, more for bursts. It is absent
   * where windows are shorter than intervals of counts, within which the requests are not known.
   */
  readonly dispersion?: number;
}

/** GapSummary describes the times between arrivals. */
export interface GapSummary {
  readonly meanS: number;
  /** The standard deviation over the mean, also called burstiness: 0 is even, 1 is Poisson; absent for a mean of 0. */
  readonly cv?: number;
  readonly p50S: number;
  readonly p99S: number;
  readonly longestS: number;
  /** The arrival after which the longest gap began. */
  readonly longestFromS: number;
}

/** IntervalSummary describes the intervals of a trace of counts. */
export interface IntervalSummary {
  readonly count: number;
  readonly shortestS: number;
  readonly longestS: number;
  /** The longest time without a request, and its start. */
  readonly silenceS: number;
  readonly silenceFromS: number;
}

/** summarizeTrace describes a trace, in windows of `windowS` seconds. It takes 8 more bytes for each arrival. */
export function summarizeTrace(trace: Trace, windowS: number): TraceSummary {
  const rps = meanRps(trace);
  const gaps = trace.kind === 'arrivals' ? gapsOf(trace.timesNs) : undefined;
  return {
    kind: trace.kind,
    format: trace.format,
    requests: requestsInTrace(trace),
    durationS: traceDurationS(trace),
    ...(rps === undefined ? {} : { meanRps: rps }),
    windows: summarizeWindows(trace, windowS),
    ...(gaps === undefined ? {} : { gaps }),
    ...(trace.kind === 'counts' ? { intervals: intervalsOf(trace.intervalS, trace.counts) } : {}),
  };
}

function summarizeWindows(trace: Trace, lengthS: number): WindowSummary {
  let [count, empty, most, mostAt, mean, squares] = [0, 0, 0, 0, 0, 0];
  eachWindow(trace, lengthS, (requests, window) => {
    count += 1;
    if (requests === 0) empty += 1;
    if (requests > most) [most, mostAt] = [requests, window];
    // Welford's recurrence keeps its digits where the mean is large.
    const before = requests - mean;
    mean += before / count;
    squares += before * (requests - mean);
  });
  return {
    ...{ lengthS, count, empty },
    peakRps: most / lengthS,
    peakFromS: mostAt * lengthS,
    ...(lengthS < longestIntervalS(trace) ? {} : { dispersion: squares / count / mean }),
  };
}

function gapsOf(timesNs: Float64Array): GapSummary | undefined {
  const gaps = new Float64Array(timesNs.length - 1);
  if (gaps.length === 0) return undefined;
  let longest = 0;
  let mean = 0;
  let squares = 0;
  for (let i = 0; i < gaps.length; i++) {
    const gap = (timesNs[i + 1] as number) - (timesNs[i] as number);
    gaps[i] = gap;
    if (gap > (gaps[longest] as number)) longest = i;
    const before = gap - mean;
    mean += before / (i + 1);
    squares += before * (gap - mean);
  }
  const [longestS, longestFromS] = [gaps[longest] as number, timesNs[longest] as number].map(seconds);
  gaps.sort();
  const quantile = (share: number): number => seconds(gaps[Math.ceil(share * gaps.length) - 1] as number);
  return {
    meanS: seconds(mean),
    ...(mean === 0 ? {} : { cv: Math.sqrt(squares / gaps.length) / mean }),
    p50S: quantile(0.5),
    p99S: quantile(0.99),
    longestS: longestS as number,
    longestFromS: longestFromS as number,
  };
}

function intervalsOf(intervalS: Float64Array, counts: Float64Array): IntervalSummary {
  let [at, from, silence, silenceFrom] = [0, 0, 0, 0];
  for (let i = 0; i < counts.length; i++) {
    at += NS_PER_S * (intervalS[i] as number);
    if (counts[i] !== 0) from = at;
    else if (at - from > silence) [silence, silenceFrom] = [at - from, from];
  }
  return {
    count: counts.length,
    shortestS: intervalS.reduce((least, length) => Math.min(least, length), Number.POSITIVE_INFINITY),
    longestS: longestOf(intervalS),
    silenceS: seconds(silence),
    silenceFromS: seconds(silenceFrom),
  };
}

/** longestIntervalS gives the length of the longest interval; 0 for arrivals. */
export function longestIntervalS(trace: Trace): number {
  return trace.kind === 'counts' ? longestOf(trace.intervalS) : 0;
}

function longestOf(lengths: Float64Array): number {
  return lengths.reduce((most, length) => Math.max(most, length), 0);
}

function seconds(ns: number): number {
  return ns / NS_PER_S;
}
