import { NS_PER_S } from '../formats/index.js';
import { type Trace, traceDurationS } from './trace.js';

/** Windows that a sum of lengths has filled up to this part of a nanosecond are full. */
const ROUNDING_NS = 1e-3;

/** windowsOf gives the number of windows of this length that a trace takes, the last one whole. */
export function windowsOf(trace: Trace, lengthS: number): number {
  // A request at the end of a window begins the next one; an interval that ends there does not.
  const untilEnd = Math.max(1, Math.ceil(traceDurationS(trace) / lengthS - 1e-9));
  if (trace.kind === 'counts') return untilEnd;
  const untilLast = Math.floor((trace.timesNs.at(-1) as number) / NS_PER_S / lengthS) + 1;
  return trace.windowNs === undefined ? untilLast : Math.max(untilLast, untilEnd);
}

/**
 * eachWindow visits the windows of a trace in order, from its start on. The requests of an interval are spread evenly
 * over it, so that a window may have parts of requests. It takes constant memory.
 */
export function eachWindow(
  trace: Trace,
  lengthS: number,
  visit: (requests: number, window: number) => void,
): void {
  const lengthNs = lengthS * NS_PER_S;
  let window = 0;
  let requests = 0;
  const close = (): void => {
    visit(requests, window);
    window += 1;
    requests = 0;
  };
  if (trace.kind === 'arrivals') {
    for (const ns of trace.timesNs) {
      while (ns >= (window + 1) * lengthNs) close();
      requests += 1;
    }
    close();
    const windows = trace.windowNs === undefined ? window : windowsOf(trace, lengthS);
    while (window < windows) close();
    return;
  }
  let roomNs = lengthNs;
  for (let i = 0; i < trace.counts.length; i++) {
    const intervalNs = (trace.intervalS[i] as number) * NS_PER_S;
    const perNs = (trace.counts[i] as number) / intervalNs;
    let leftNs = intervalNs;
    while (leftNs >= roomNs - ROUNDING_NS) {
      requests += perNs * Math.min(roomNs, leftNs);
      leftNs -= roomNs;
      roomNs = lengthNs;
      close();
    }
    if (leftNs <= ROUNDING_NS) continue;
    requests += perNs * leftNs;
    roomNs -= leftNs;
  }
  if (roomNs < lengthNs) close();
}
