import type { DescribedTrace, TraceDescription } from '../formats/index.js';
import { count, figure, orDash, percent, plain, type Table } from './table.js';

type Told = Omit<DescribedTrace, 'share'> & { readonly share?: number };

/** traceTable has a column per trace, and one for all of them together, with one figure per line. */
export function traceTable({ traces, all }: TraceDescription): Table {
  const told: Told[] = all === undefined ? [...traces] : [...traces, { ...all, name: 'all' }];
  const lines: [string, (trace: Told) => string][] = [
    ['format', ({ format }) => format],
    ['requests', ({ requests }) => count(requests)],
    ['duration s', ({ durationS }) => figure(durationS)],
    ['mean requests/s', ({ meanRps }) => orDash(meanRps, figure)],
    [`peak requests/s in ${lengthOf(told)}`, ({ windows }) => figure(windows.peakRps)],
    ['  from s', ({ windows }) => figure(windows.peakFromS)],
    ['  windows', ({ windows }) => count(windows.count)],
    ['  of them empty', ({ windows }) => count(windows.empty)],
    ['  variance/mean', ({ windows }) => orDash(windows.dispersion, figure)],
  ];
  if (traces.length > 1) lines.splice(2, 0, ['share', ({ share }) => orDash(share, (one) => percent(one))]);
  if (told.some(({ gaps }) => gaps !== undefined))
    lines.push(
      ['gaps: burstiness (CV)', ({ gaps }) => orDash(gaps?.cv, figure)],
      ['  mean ms', ({ gaps }) => orDash(gaps?.meanS, ms)],
      ['  p50 ms', ({ gaps }) => orDash(gaps?.p50S, ms)],
      ['  p99 ms', ({ gaps }) => orDash(gaps?.p99S, ms)],
      ['  longest ms', ({ gaps }) => orDash(gaps?.longestS, ms)],
      ['  from s', ({ gaps }) => orDash(gaps?.longestFromS, figure)],
    );
  if (told.some(({ intervals }) => intervals !== undefined))
    lines.push(
      ['intervals', ({ intervals }) => orDash(intervals?.count, count)],
      ['  shortest s', ({ intervals }) => orDash(intervals?.shortestS, figure)],
      ['  longest s', ({ intervals }) => orDash(intervals?.longestS, figure)],
      ['  longest silence s', ({ intervals }) => orDash(intervals?.silenceS, figure)],
      ['  from s', ({ intervals }) => orDash(intervals?.silenceFromS, figure)],
    );
  if (traces.some(({ begunBefore }) => begunBefore !== undefined))
    lines.push(['left out, begun before', ({ begunBefore }) => orDash(begunBefore, count)]);
  return {
    columns: ['trace', ...told.map(({ name }) => name)],
    rows: lines.map(([head, of]) => [head, ...told.map(of)]),
  };
}

/** requestsText states the number of requests of a changed trace, where it differs from that of the original. */
export function requestsText({ traces, requestsBefore }: TraceDescription): string | undefined {
  const after = traces[0]?.requests;
  if (requestsBefore === undefined || after === undefined) return undefined;
  return `requests: ${count(requestsBefore)} before, ${count(after)} after`;
}

/** windowText names the window of another trace that a trace is. */
export function windowText({ window }: TraceDescription): string | undefined {
  if (window === undefined) return undefined;
  const { fromS, toS } = window;
  return `window: from ${plain(fromS, 9)} s ${toS === undefined ? 'on' : `to ${plain(toS, 9)} s`}`;
}

function lengthOf(told: readonly Told[]): string {
  const lengthS = told[0]?.windows.lengthS ?? 1;
  return lengthS < 1 ? `${figure(1000 * lengthS)} ms` : `${plain(lengthS, 6)} s`;
}

function ms(seconds: number): string {
  return figure(1000 * seconds);
}
