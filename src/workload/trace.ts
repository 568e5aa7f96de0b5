import { InputError } from '../artifacts/index.js';
import { DrawnArrivals, type DrawnOptions } from './drawn-arrivals.js';
import { loadOf } from './load.js';
import { type Arrivals, arrivalsAt } from './stream-of-arrivals.js';

const NS_PER_S = 1e9;

/** A recorded load: either when each request came, or how many came in each interval. */
export type Trace = ArrivalTrace | CountTrace;

export interface ArrivalTrace {
  kind: 'arrivals';
  /** Which format it was read from. */
  format: string;
  /** Integer nanoseconds since the start, ascending. */
  timesNs: Float64Array;
}

export interface CountTrace {
  kind: 'counts';
  format: string;
  intervalS: Float64Array;
  /** Requests in each interval; fractions after rescaling. */
  counts: Float64Array;
}

/**
 * Requests per second in the mean. Of a trace of arrivals: gaps over the time between first and last; of counts: requests over the
 * sum of the intervals. Undefined where all requests came at one instant.
 */
export function meanRps(trace: Trace): number | undefined {
  if (trace.kind === 'counts') return sum(trace.counts) / sum(trace.intervalS);
  const gaps = trace.timesNs.length - 1;
  const spanNs = (trace.timesNs[gaps] as number) - (trace.timesNs[0] as number);
  return spanNs > 0 ? (NS_PER_S * gaps) / spanNs : undefined;
}

/** Requests per second in the fullest interval of a trace of counts (what InferLine §6 rescales). */
export function peakRps(trace: CountTrace): number {
  let most = 0;
  for (let i = 0; i < trace.counts.length; i++)
    most = Math.max(most, (trace.counts[i] as number) / (trace.intervalS[i] as number));
  return most;
}

/**
 * The trace at another rate, its shape kept: arrivals come closer together or further apart in time; of counts there are more or
 * fewer in the same intervals.
 * @param to the mean rate, or for counts the peak's
 * @throws InputError where the rate is not positive, or the trace has none that could be changed
 */
export function rescaledTrace(trace: Trace, to: { meanRps: number } | { peakRps: number }): Trace {
  const wanted = 'meanRps' in to ? to.meanRps : to.peakRps;
  const refuse = (message: string) => new InputError('rescale the trace', [{ path: '', message }]);
  if (!(wanted > 0 && Number.isFinite(wanted))) throw refuse(`the rate ${wanted} is not positive`);
  if (trace.kind === 'counts') {
    const factor = wanted / ('meanRps' in to ? (meanRps(trace) as number) : peakRps(trace));
    return { ...trace, counts: trace.counts.map((count) => count * factor) };
  }
  if ('peakRps' in to) throw refuse('it has arrival times; a peak rate is that of a trace of counts');
  const rate = meanRps(trace);
  if (rate === undefined) throw refuse('all its requests come at one instant: it has no rate');
  const factor = rate / wanted;
  return { ...trace, timesNs: trace.timesNs.map((time) => Math.round(time * factor)) };
}

/** How the requests of an interval are placed in it; a trace of arrivals says so itself. */
export type Spread = Pick<DrawnOptions, 'process' | 'stream'> & {
  /** Coefficient of variation of a gamma process. Default 1. */
  cv?: number;
};

/**
 * Arrivals of a trace.
 * @param spread for counts: uniform gives every interval its count, each request in the middle of its share of it; poisson and
 *   gamma have the counts as means
 */
export function traceArrivals(trace: Trace, spread: Spread, model = 0): Arrivals {
  if (trace.kind === 'arrivals') return arrivalsAt(trace.timesNs, model);
  const { process, stream, cv = 1 } = spread;
  return new DrawnArrivals({ process, stream, model, load: countLoad(trace, cv), uniformOffset: 0.5 });
}

/** When a trace ends, seconds: its last arrival, or the end of its last interval. */
export function traceDurationS(trace: Trace): number {
  if (trace.kind === 'counts') return sum(trace.intervalS);
  return (trace.timesNs.at(-1) as number) / NS_PER_S;
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
