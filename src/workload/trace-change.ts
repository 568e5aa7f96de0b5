import { grownCapacity, grownColumn, type Steps, sorted } from '../collections/index.js';
import { InputError, NS_PER_S, toldBeyond } from '../formats/index.js';
import type { Arrivals } from './stream-of-arrivals.js';
import {
  type ArrivalTrace,
  type CountTrace,
  meanRps,
  rescaledTrace,
  stretchedTrace,
  type Trace,
  traceDurationS,
} from './trace.js';
import { eachWindow, windowsOf } from './trace-windows.js';

/** MOST_LINES is how many lines a trace that is written has at most; they take 160 MB in memory. */
export const MOST_LINES = 1e7;

/** A request is drawn in less than a microsecond. */
const REQUESTS_IN_A_STEP = 1 << 16;

/** RandomSource is where random choices are drawn. A Stream of src/random is one. */
interface RandomSource {
  /** uniform draws from [0, 1). */
  uniform(): number;
}

/** Reshape says what a trace is rescaled to: a mean rate, a duration, or both. */
export interface Reshape {
  readonly rps?: number | undefined;
  readonly durationS?: number | undefined;
}

/**
 * reshapedTrace changes the rate or the duration of a trace, piece by piece, and keeps its shape.
 * - A rate alone changes it as `rescaledTrace` does: arrivals move closer together or further apart, counts change.
 * - A duration alone stretches time, so that the last request, or the end of the last interval, comes then.
 * - With both, time is stretched, and then there are more or fewer requests. Counts change. Of arrivals, the first and
 *   the last stay; of the others, some are left out at random, or some are added at random where arrivals are dense.
 *
 * Counts become whole in every case: the remainder of rounding in an interval goes to the next.
 * @param stream draws which arrivals are left out or added; nothing else is drawn
 * @throws InputError where the trace has no rate or duration that could be changed, its last arrival would come more
 *   than 104 days after the start, or it would have no requests, or of arrivals more than 10 million (MOST_LINES)
 */
export function* reshapedTrace(
  trace: Trace,
  { rps, durationS }: Reshape,
  stream: RandomSource,
): Steps<Trace> {
  if (trace.kind === 'counts') return reshapedCounts(trace, rps, durationS);
  if (durationS === undefined)
    return rps === undefined ? trace : inTime(rescaledTrace(trace, { meanRps: rps }));
  const endNs = trace.windowNs ?? (trace.timesNs.at(-1) as number);
  if (endNs === 0) throw refusal('all its requests come at its start: it has no duration');
  const stretched = inTime(stretchedTrace(trace, (durationS * NS_PER_S) / endNs));
  return rps === undefined
    ? stretched
    : { ...stretched, timesNs: yield* thinnedOrFilled(stretched, rps, stream) };
}

function reshapedCounts(
  trace: CountTrace,
  rps: number | undefined,
  durationS: number | undefined,
): CountTrace {
  const stretch = durationS === undefined ? 1 : durationS / traceDurationS(trace);
  const intervalS = trace.intervalS.map((length) => length * stretch);
  const stretched: CountTrace = { ...trace, intervalS };
  const factor = rps === undefined ? 1 : rps / (meanRps(stretched) as number);
  return { ...stretched, counts: wholeCounts(stretched.counts.map((count) => count * factor)) };
}

/** wholeCounts rounds the running sum, so that no requests are lost. @throws InputError where none is left */
export function wholeCounts(counts: Float64Array): Float64Array {
  let sum = 0;
  let before = 0;
  const whole = counts.map((count) => {
    sum += count;
    const upTo = Math.round(sum);
    const here = upTo - before;
    before = upTo;
    return here;
  });
  if (before === 0) throw refusal('it would have no requests');
  if (!Number.isSafeInteger(before)) throw refusal(`it would have ${sum.toExponential(1)} requests`);
  return whole;
}

function inTime<T extends Trace>(trace: T): T {
  if (Number.isSafeInteger(Math.ceil(traceDurationS(trace) * NS_PER_S))) return trace;
  throw refusal('its last request would come more than 104 days after the start');
}

function* thinnedOrFilled(
  { timesNs, windowNs }: ArrivalTrace,
  rps: number,
  stream: RandomSource,
): Steps<Float64Array> {
  const spanNs = (timesNs.at(-1) as number) - (timesNs[0] as number);
  const wanted =
    windowNs === undefined
      ? Math.round((rps * spanNs) / NS_PER_S) + 1
      : Math.round((rps * windowNs) / NS_PER_S);
  if (spanNs === 0) throw refusal('all its requests come at one instant: it has no rate');
  if (wanted < 2) throw refusal(`fewer than two requests would come in ${spanNs / NS_PER_S} s`);
  if (wanted > MOST_LINES) throw tooLong(wanted, 'requests');
  yield;
  return wanted < timesNs.length ? thinned(timesNs, wanted, stream) : yield* filled(timesNs, wanted, stream);
}

/** thinned chooses `wanted` arrivals, the first and the last among them, all others equally likely. */
function thinned(timesNs: Float64Array, wanted: number, stream: RandomSource): Float64Array {
  const kept = new Float64Array(wanted);
  let count = 1;
  kept[0] = timesNs[0] as number;
  for (let i = 1; i < timesNs.length - 1; i++) {
    const left = timesNs.length - 1 - i;
    if (stream.uniform() * left < wanted - 1 - count) kept[count++] = timesNs[i] as number;
  }
  kept[count] = timesNs.at(-1) as number;
  return kept;
}

/** filled adds arrivals. Each lies in a gap that is drawn, all gaps equally likely, anywhere in it. */
function* filled(timesNs: Float64Array, wanted: number, stream: RandomSource): Steps<Float64Array> {
  const all = new Float64Array(wanted);
  all.set(timesNs);
  for (let i = timesNs.length; i < wanted; i++) {
    const place = stream.uniform() * (timesNs.length - 1);
    const gap = Math.floor(place);
    const fromNs = timesNs[gap] as number;
    all[i] = fromNs + Math.round((place - gap) * ((timesNs[gap + 1] as number) - fromNs));
  }
  yield;
  return yield* sorted(all);
}

/**
 * countedTrace counts the requests of a trace in intervals of `lengthS` seconds. Where an interval of the trace lies in
 * several of them, its requests are spread evenly, and counts stay whole.
 * @throws InputError where there would be no requests, or more than 10 million intervals (MOST_LINES)
 */
export function countedTrace(trace: Trace, lengthS: number): CountTrace {
  const windows = windowsOf(trace, lengthS);
  if (windows > MOST_LINES) throw tooLong(windows, 'intervals');
  const counts = new Float64Array(windows + 1);
  let window = 0;
  eachWindow(trace, lengthS, (requests) => {
    counts[window++] = requests;
  });
  return {
    kind: 'counts',
    format: 'counts',
    intervalS: new Float64Array(window).fill(lengthS),
    counts: wholeCounts(counts.subarray(0, window)),
  };
}

/**
 * drawnTrace reads arrivals to their end and makes a trace of them, such as of those that a trace of counts stands for.
 * A trace does not say which models they ask for.
 * @throws InputError where there are no arrivals, or more than 10 million (MOST_LINES)
 */
export function* drawnTrace(arrivals: Arrivals): Steps<ArrivalTrace> {
  let timesNs = new Float64Array(1024);
  let count = 0;
  while (arrivals.next()) {
    if (count === MOST_LINES)
      throw refusal(`it would have more than ${MOST_LINES} requests, the most that can be written`);
    if (count === timesNs.length) timesNs = grownColumn(timesNs, grownCapacity(count, count + 1));
    timesNs[count++] = arrivals.atNs;
    if (count % REQUESTS_IN_A_STEP === 0) yield;
  }
  if (count === 0) throw refusal('no requests were drawn');
  return { kind: 'arrivals', format: 'arrivals', timesNs: timesNs.slice(0, count) };
}

function tooLong(count: number, of: string): InputError {
  const [wanted, most] = toldBeyond(count, MOST_LINES);
  return refusal(`it would have ${wanted} ${of}, of which at most ${most} can be written`);
}

function refusal(message: string): InputError {
  return new InputError('change the trace', [{ path: '', message }]);
}
