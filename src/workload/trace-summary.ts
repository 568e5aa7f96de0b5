import { NS_PER_S } from '../formats/index.js';
import { meanRps, requestsInTrace, type Trace, traceDurationS } from './trace.js';
import { eachWindow } from './trace-windows.js';

/** TraceSummary holds the figures of a trace. Rates are in requests per second. */
export interface TraceSummary {
  /** kind says whether it has arrival times, or counts per interval. */
  readonly kind: Trace['kind'];
  readonly format: string;
  readonly requests: number;
  /** The end of the trace: its last arrival, or the end of its window or of its last interval. */
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

/**
 * summarizeTrace describes a trace, in windows of `windowS` seconds. It takes constant memory, and looks some ten times
 * at each arrival.
 */
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
    lengthS,
    count,
    empty,
    peakRps: most / lengthS,
    peakFromS: mostAt * lengthS,
    ...(lengthS < longestIntervalS(trace) ? {} : { dispersion: squares / count / mean }),
  };
}

function gapsOf(timesNs: Float64Array): GapSummary | undefined {
  const count = timesNs.length - 1;
  if (count === 0) return undefined;
  let longest = 0;
  let longestNs = 0;
  let mean = 0;
  let squares = 0;
  for (let i = 0; i < count; i++) {
    const gap = (timesNs[i + 1] as number) - (timesNs[i] as number);
    if (gap > longestNs) [longest, longestNs] = [i, gap];
    const before = gap - mean;
    mean += before / (i + 1);
    squares += before * (gap - mean);
  }
  const quantile = (share: number): number =>
    seconds(nthGap(timesNs, { place: Math.ceil(share * count) - 1, mostNs: longestNs }));
  return {
    meanS: seconds(mean),
    ...(mean === 0 ? {} : { cv: Math.sqrt(squares / count) / mean }),
    p50S: quantile(0.5),
    p99S: quantile(0.99),
    longestS: seconds(longestNs),
    longestFromS: seconds(timesNs[longest] as number),
  };
}

/** In each pass over the gaps this many ranges of equal width are counted. */
const RANGES = 1 << 16;

/**
 * nthGap gives the gap, in whole nanoseconds, that has `place` others before it when they are sorted, without a list of
 * them: it counts the gaps in ranges, and then again in the range that holds the place, until that is one nanosecond.
 */
function nthGap(
  timesNs: Float64Array,
  { place, mostNs }: { readonly place: number; readonly mostNs: number },
): number {
  const counts = new Uint32Array(RANGES);
  let [fromNs, lengthNs, left] = [0, mostNs + 1, place];
  while (lengthNs > 1) {
    const widthNs = Math.ceil(lengthNs / RANGES);
    counts.fill(0);
    for (let i = 1; i < timesNs.length; i++) {
      const range = Math.floor(((timesNs[i] as number) - (timesNs[i - 1] as number) - fromNs) / widthNs);
      if (range >= 0 && range * widthNs < lengthNs) counts[range]! += 1;
    }
    let range = 0;
    for (; left >= (counts[range] as number); range++) left -= counts[range] as number;
    fromNs += range * widthNs;
    lengthNs = widthNs;
  }
  return fromNs;
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
