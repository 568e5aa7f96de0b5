import type { EnvelopeWindow } from '../../formats/index.js';
import { NS_PER_US } from '../../formats/index.js';
import { ArrivalWindows } from './arrival-windows.js';

const LONGEST_NS = 60e9;

/**
 * envelopeLengths gives the lengths of an envelope's windows in nanoseconds: the service time of the pipeline, doubled
 * up to 60 s (InferLine §5).
 */
export function envelopeLengths(serviceNs: number): number[] {
  const lengths = [Math.max(1, Math.round(serviceNs))];
  for (let ns = 2 * (lengths[0] as number); ns < LONGEST_NS; ns *= 2) lengths.push(ns);
  if ((lengths[0] as number) < LONGEST_NS) lengths.push(LONGEST_NS);
  return lengths;
}

/**
 * envelopeOf computes the traffic envelope of a trace: for each window length, the largest number of requests that came
 * within one such window anywhere (InferLine §5). It costs constant time per arrival and window.
 * @param atNs the arrivals in order
 * @param serviceNs the time of the pipeline's longest path
 */
export function envelopeOf(atNs: ArrayLike<number>, serviceNs: number): EnvelopeWindow[] {
  const windows = new ArrivalWindows(envelopeLengths(serviceNs));
  const most = new Float64Array(windows.lengthsNs.length);
  for (let i = 0; i < atNs.length; i++) {
    windows.add(atNs[i] as number);
    for (let w = 0; w < most.length; w++) most[w] = Math.max(most[w] as number, windows.countIn(w));
  }
  return Array.from(most, (requests, w) => ({
    windowUs: (windows.lengthsNs[w] as number) / NS_PER_US,
    requests,
  }));
}
