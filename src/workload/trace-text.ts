import type { Trace } from './trace.js';

const NS_PER_S = 1e9;

/** Lines are handed on in pieces of about this many characters. */
const PIECE_CHARACTERS = 1 << 16;

/**
 * traceText writes a trace as our own CSV with a header (`arrival_s`, or `interval_s,count`), in pieces of about 64 KB.
 * Arrival times are exact.
 * (Past 48 days, a reader of numbers in seconds may see them one nanosecond off.)
 */
export function* traceText(trace: Trace): Generator<string, void, undefined> {
  const arrivals = trace.kind === 'arrivals';
  let piece = arrivals ? 'arrival_s\n' : 'interval_s,count\n';
  const lines = arrivals ? trace.timesNs.length : trace.counts.length;
  for (let i = 0; i < lines; i++) {
    piece += arrivals
      ? `${secondsText(trace.timesNs[i] as number)}\n`
      : `${trace.intervalS[i]},${trace.counts[i]}\n`;
    if (piece.length < PIECE_CHARACTERS) continue;
    yield piece;
    piece = '';
  }
  if (piece !== '') yield piece;
}

/** secondsText writes integer nanoseconds as seconds, digit by digit. */
function secondsText(ns: number): string {
  const whole = Math.floor(ns / NS_PER_S);
  const rest = ns - whole * NS_PER_S;
  return rest === 0 ? String(whole) : `${whole}.${String(rest).padStart(9, '0').replace(/0+$/, '')}`;
}
