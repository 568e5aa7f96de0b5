import { NS_PER_S } from '../formats/index.js';
import type { ArrivalTrace, CountTrace, Trace } from './trace.js';
import { WINDOW } from './trace-formats.js';

/** Lines are handed on in pieces of about this many characters. */
const PIECE_CHARACTERS = 1 << 16;

/**
 * traceText writes a trace as our own CSV with a header (`arrival_s`, or `interval_s,count`), in pieces of about 64 KB.
 * Arrival times are exact. A window of another trace has its length in the first line of a second column, `window_s`, since it may
 * last longer than its arrivals.
 * (Past 48 days, a reader of numbers in seconds may see them one nanosecond off.)
 */
export function* traceText(trace: Trace): Generator<string, void, undefined> {
  let piece = '';
  for (const line of trace.kind === 'arrivals' ? arrivalLines(trace) : countLines(trace)) {
    piece += `${line}\n`;
    if (piece.length < PIECE_CHARACTERS) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}

function* arrivalLines({ timesNs, windowNs }: ArrivalTrace): Generator<string> {
  yield windowNs === undefined ? 'arrival_s' : `arrival_s,${WINDOW}`;
  for (const [i, ns] of timesNs.entries()) {
    const window = i === 0 ? secondsText(windowNs ?? 0) : '';
    yield windowNs === undefined ? secondsText(ns) : `${secondsText(ns)},${window}`;
  }
}

function* countLines({ intervalS, counts }: CountTrace): Generator<string> {
  yield 'interval_s,count';
  for (const [i, seconds] of intervalS.entries()) yield `${seconds},${counts[i]}`;
}

/** secondsText writes integer nanoseconds as seconds, digit by digit. */
function secondsText(ns: number): string {
  const whole = Math.floor(ns / NS_PER_S);
  const rest = ns - whole * NS_PER_S;
  return rest === 0 ? String(whole) : `${whole}.${String(rest).padStart(9, '0').replace(/0+$/, '')}`;
}
