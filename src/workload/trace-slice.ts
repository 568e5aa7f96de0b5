import { fault, InputError, NS_PER_S } from '../formats/index.js';
import { type ArrivalTrace, type CountTrace, requestsInTrace, type Trace, traceDurationS } from './trace.js';
import { wholeCounts } from './trace-change.js';

/** TraceSpan is a window of a trace, in seconds from its start. */
export interface TraceSpan {
  /** Where it begins; 0 by default. */
  readonly fromS?: number | undefined;
  /** Where it ends, before the request that comes then; by default with the trace. */
  readonly toS?: number | undefined;
}

/** isWhole says whether a span leaves a trace as it is. */
function isWhole({ fromS, toS }: TraceSpan): boolean {
  return fromS === undefined && toS === undefined;
}

/**
 * slicedTrace gives a window of a trace, which then begins at 0, and is as long as was asked, or up to the trace's own
 * end. A window that leaves nothing out is the trace itself. An interval of counts that the window cuts has its
 * requests spread evenly, and counts stay whole: the remainder of rounding in one interval goes to the next.
 * @throws InputError where the window does not begin before it and the trace end, or holds no requests
 */
export function slicedTrace(trace: Trace, span: TraceSpan): Trace {
  if (isWhole(span)) return trace;
  const { fromS = 0, toS = Number.POSITIVE_INFINITY } = span;
  const endS = traceDurationS(trace);
  if (!(fromS >= 0 && toS > fromS)) throw refusal(`it would begin at ${fromS} s and end at ${toS} s`);
  if (fromS > endS) throw refusal(`it would begin at ${fromS} s, but the trace ends at ${endS} s`);
  const sliced =
    trace.kind === 'counts'
      ? slicedCounts(trace, NS_PER_S * fromS, NS_PER_S * toS)
      : slicedArrivals(trace, NS_PER_S * fromS, NS_PER_S * toS);
  if (requestsInTrace(sliced) > 0) return sliced;
  throw refusal(
    toS === Number.POSITIVE_INFINITY
      ? `no request comes from ${fromS} s on`
      : `no request comes from ${fromS} s to ${toS} s`,
  );
}

function slicedArrivals(trace: ArrivalTrace, fromNs: number, toNs: number): ArrivalTrace {
  const { timesNs } = trace;
  const [begin, end] = [Math.round(fromNs), Math.round(toNs)];
  const traceEnd = trace.windowNs ?? (timesNs.at(-1) as number);
  if (begin === 0 && end > traceEnd) return trace;
  const [first, after] = [placeOf(timesNs, begin), placeOf(timesNs, toNs)];
  return {
    kind: trace.kind,
    format: trace.format,
    timesNs: timesNs.subarray(first, after).map((ns) => ns - begin),
    // The nanosecond after the last request may be in the window: without it that request would not be.
    windowNs: (end <= traceEnd + 1 ? end : traceEnd) - begin,
  };
}

/** placeOf gives how many times come before a moment. */
function placeOf(timesNs: Float64Array, ns: number): number {
  let [low, high] = [0, timesNs.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((timesNs[middle] as number) < ns) low = middle + 1;
    else high = middle;
  }
  return low;
}

function slicedCounts(trace: CountTrace, fromNs: number, toNs: number): CountTrace {
  const { intervalS, counts } = trace;
  const [lengths, parts]: [number[], number[]] = [[], []];
  let atNs = 0;
  for (let i = 0; i < counts.length && atNs < toNs; i++) {
    const lengthNs = NS_PER_S * (intervalS[i] as number);
    const insideNs = Math.min(atNs + lengthNs, toNs) - Math.max(atNs, fromNs);
    atNs += lengthNs;
    // A rest of an interval that is only the rounding of a sum is none.
    if (insideNs < 1) continue;
    const isWholeInside = lengthNs - insideNs < 1;
    lengths.push(isWholeInside ? (intervalS[i] as number) : insideNs / NS_PER_S);
    parts.push(isWholeInside ? (counts[i] as number) : ((counts[i] as number) * insideNs) / lengthNs);
  }
  const isEmpty = parts.every((part) => part === 0);
  return {
    ...trace,
    intervalS: Float64Array.from(lengths),
    counts: isEmpty ? new Float64Array(parts.length) : wholeCounts(Float64Array.from(parts)),
  };
}

/**
 * busiestSpan finds the window of a length that has the most requests: the first of them. It ends with the trace at the
 * latest, which is just after the last arrival. Within an interval of counts, requests are spread evenly. It looks once
 * at each request or interval.
 */
export function busiestSpan(trace: Trace, lengthS: number): { readonly fromS: number; readonly toS: number } {
  const lengthNs = NS_PER_S * lengthS;
  const fromNs =
    trace.kind === 'arrivals' ? busiestTime(trace.timesNs, lengthNs) : busiestInterval(trace, lengthNs);
  return { fromS: fromNs / NS_PER_S, toS: (fromNs + lengthNs) / NS_PER_S };
}

/** busiestTime: a window with the most arrivals begins at one of them, or ends just after the last. */
function busiestTime(timesNs: Float64Array, lengthNs: number): number {
  const latestNs = Math.max(0, (timesNs.at(-1) as number) + 1 - lengthNs);
  let [most, best, after] = [0, 0, 0];
  for (const [first, arrivalNs] of timesNs.entries()) {
    const ns = Math.min(arrivalNs, latestNs);
    while (after < timesNs.length && (timesNs[after] as number) < ns + lengthNs) after += 1;
    if (after - first > most) [most, best] = [after - first, ns];
    if (arrivalNs >= latestNs) break;
  }
  return best;
}

/** busiestInterval: a window with the most requests begins or ends where an interval does. */
function busiestInterval({ intervalS, counts }: CountTrace, lengthNs: number): number {
  const edgesNs = new Float64Array(counts.length + 1);
  const before = new Float64Array(counts.length + 1);
  for (let i = 0; i < counts.length; i++) {
    edgesNs[i + 1] = (edgesNs[i] as number) + NS_PER_S * (intervalS[i] as number);
    before[i + 1] = (before[i] as number) + (counts[i] as number);
  }
  const until = requestsUntil(edgesNs, before);
  const untilEnd = requestsUntil(edgesNs, before);
  const latestNs = Math.max(0, (edgesNs.at(-1) as number) - lengthNs);
  let [most, best] = [0, 0];
  // Begins ascend on both lists, which are merged, so that each is gone through once.
  let [begins, ends] = [0, 0];
  while (begins < edgesNs.length || ends < edgesNs.length) {
    const beginNs = Math.min(edgesNs[begins] ?? Infinity, (edgesNs[ends] ?? Infinity) - lengthNs);
    if (edgesNs[begins] === beginNs) begins += 1;
    else ends += 1;
    if (beginNs < 0 || beginNs > latestNs) continue;
    const requests = untilEnd(beginNs + lengthNs) - until(beginNs);
    // Sums of parts that differ by rounding alone are equal.
    if (requests > most * (1 + 1e-12)) [most, best] = [requests, beginNs];
  }
  return best;
}

/** requestsUntil makes a function that gives the requests before a moment, for moments that ascend. */
function requestsUntil(edgesNs: Float64Array, before: Float64Array): (ns: number) => number {
  let i = 0;
  return (ns) => {
    while (i + 2 < edgesNs.length && (edgesNs[i + 1] as number) <= ns) i += 1;
    const [fromNs, toNs] = [edgesNs[i] as number, edgesNs[i + 1] as number];
    const part = Math.min(1, (ns - fromNs) / (toNs - fromNs));
    return (before[i] as number) + part * ((before[i + 1] as number) - (before[i] as number));
  };
}

function refusal(message: string): InputError {
  return new InputError('take a window of the trace', [fault(message)]);
}
