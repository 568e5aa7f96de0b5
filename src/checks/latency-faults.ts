import { type Fault, fault, type LatencyHistogram, type SimulatedLatency } from '../formats/index.js';
import { isBetween } from './figures.js';

const QUANTILES = [
  ['p50', 0.5],
  ['p90', 0.9],
  ['p95', 0.95],
  ['p99', 0.99],
  ['max', 1],
] as const;

/** The bounds that docs/metrics.md lists: ten of each power of ten, and 0 before the first. */
const STEPS = [1, 1.25, 1.6, 2, 2.5, 3.15, 4, 5, 6.3, 8];
const POWERS = [-3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
const BOUNDS_MS = [0, ...POWERS.flatMap((power) => STEPS.map((step) => Number(`${step}e${power}`)))];

/** Latencies are a summary of latencies in ms and, where a report has one, their histogram. */
export interface Latencies {
  readonly latencyMs?: SimulatedLatency | undefined;
  readonly latencyHistogram?: LatencyHistogram | undefined;
}

/** LatenciesAt says where latencies are, of how many values, and by which share their percentiles may be off. */
export interface LatenciesAt {
  readonly at: string;
  readonly count: number;
  /** 0 where percentiles are values of the sample, and not the middles of buckets near them. */
  readonly off?: number;
}

/**
 * latencyFaults finds where a summary and a histogram of latencies contradict the number of values, themselves and each
 * other: percentiles that fall, a mean that no values with these percentiles have, and buckets that hold other values.
 */
export function latencyFaults(
  { latencyMs, latencyHistogram }: Latencies,
  { at, count, off = 0 }: LatenciesAt,
): Fault[] {
  const ofSummary =
    latencyMs === undefined ? [] : summaryFaults(latencyMs, { at: `${at}/latencyMs`, count, off });
  if (latencyHistogram === undefined) return ofSummary;
  const ofHistogram = histogramFaults(latencyHistogram, { at: `${at}/latencyHistogram`, count });
  if (ofHistogram.length > 0 || ofSummary.length > 0 || latencyMs === undefined)
    return [...ofSummary, ...ofHistogram];
  return bucketFaults(latencyMs, latencyHistogram, { at: `${at}/latencyMs`, off });
}

/** summaryFaults finds where a summary of values from 0 on contradicts itself and how many values there are. */
export function summaryFaults(summary: SimulatedLatency, { at, count, off = 0 }: LatenciesAt): Fault[] {
  if (count === 0) return [fault('is of values, and there are none', at)];
  if (summary.count !== count)
    return [fault(`is ${summary.count}, and there are ${count} values`, `${at}/count`)];
  const faults = [...orderFaults(summary, at)];
  if (faults.length > 0) return faults;
  const [least, most] = meanBounds(summary);
  if (isBetween(summary.mean, least * (1 - off), most * (1 + off))) return [];
  return [
    fault(
      `is ${summary.mean}; values with these percentiles have a mean from ${least} to ${most}`,
      `${at}/mean`,
    ),
  ];
}

function orderFaults(summary: SimulatedLatency, at: string): Fault[] {
  const { count } = summary;
  let before: { name: string; value: number; rank: number } | undefined;
  const faults: Fault[] = [];
  for (const [name, share] of QUANTILES) {
    const value = summary[name];
    const rank = rankOf(share, count);
    if (value < 0) faults.push(fault(`is ${value}, less than 0`, `${at}/${name}`));
    else if (before !== undefined && value < before.value)
      faults.push(fault(`is ${value}, below ${before.name}, which is ${before.value}`, `${at}/${name}`));
    else if (before !== undefined && rank === before.rank && value !== before.value)
      faults.push(
        fault(
          `is ${value}, and ${before.name} is ${before.value}: of ${count} values both are the same one`,
          `${at}/${name}`,
        ),
      );
    before = { name, value, rank };
  }
  return faults;
}

/** meanBounds gives the least and the largest mean of values with these percentiles. */
function meanBounds(summary: SimulatedLatency): [least: number, most: number] {
  const { count } = summary;
  let least = 0;
  let most = 0;
  let rankBefore = 0;
  let valueBefore = 0;
  for (const [name, share] of QUANTILES) {
    const rank = rankOf(share, count);
    const value = summary[name];
    // The value of the rank itself is known, and those below it are from the percentile before on.
    const between = rank - rankBefore;
    if (between > 0) {
      least += (between - 1) * valueBefore + value;
      most += between * value;
    }
    rankBefore = rank;
    valueBefore = value;
  }
  return [least / count, most / count];
}

/** histogramFaults finds where a histogram has other bounds than the fixed ones, empty ends, or another number of values. */
function histogramFaults(
  { boundsMs, counts }: LatencyHistogram,
  { at, count }: { readonly at: string; readonly count: number },
): Fault[] {
  const sum = counts.reduce((all, one) => all + one, 0);
  const first = BOUNDS_MS.indexOf(boundsMs[0] as number);
  const strange = boundsMs.findIndex((bound, i) => bound !== BOUNDS_MS[first + i]);
  return [
    ...(boundsMs.length === counts.length + 1
      ? []
      : [fault(`are ${boundsMs.length}, for ${counts.length} counts`, `${at}/boundsMs`)]),
    ...(strange < 0
      ? []
      : [fault(`is ${boundsMs[strange]}, which is not the next bound`, `${at}/boundsMs/${strange}`)]),
    ...(sum === count ? [] : [fault(`sum to ${sum}, and there are ${count} values`, `${at}/counts`)]),
    ...(counts[0] === 0 ? [fault('is 0; empty buckets at the ends are left out', `${at}/counts/0`)] : []),
    ...(counts.length > 1 && counts.at(-1) === 0
      ? [fault('is 0; empty buckets at the ends are left out', `${at}/counts/${counts.length - 1}`)]
      : []),
  ];
}

/** bucketFaults finds percentiles outside the bucket that holds the value of their rank, and a mean that no such values have. */
function bucketFaults(
  summary: SimulatedLatency,
  histogram: LatencyHistogram,
  { at, off }: { readonly at: string; readonly off: number },
): Fault[] {
  const { boundsMs, counts } = histogram;
  const faults: Fault[] = [];
  for (const [name, share] of QUANTILES) {
    const bucket = bucketOf(rankOf(share, summary.count), counts);
    const [from, to] = [boundsMs[bucket] as number, boundsMs[bucket + 1] as number];
    if (!isBetween(summary[name], from * (1 - off), to * (1 + off)))
      faults.push(
        fault(`is ${summary[name]}, and by the histogram it is from ${from} to ${to}`, `${at}/${name}`),
      );
  }
  const sumOf = (shift: 0 | 1) => counts.reduce((sum, n, i) => sum + n * (boundsMs[i + shift] as number), 0);
  const [least, most] = [sumOf(0) / summary.count, sumOf(1) / summary.count];
  if (!isBetween(summary.mean, least * (1 - off), most * (1 + off)))
    faults.push(
      fault(`is ${summary.mean}, and by the histogram it is from ${least} to ${most}`, `${at}/mean`),
    );
  return faults;
}

function bucketOf(rank: number, counts: readonly number[]): number {
  let seen = 0;
  return counts.findIndex((count) => {
    seen += count;
    return seen >= rank;
  });
}

/** inTimeBounds gives how many of the values are at most a limit, at least and at most, by percentiles and histogram. */
export function inTimeBounds(
  { latencyMs, latencyHistogram }: Latencies,
  limitMs: number,
): readonly [least: number, most: number] {
  if (latencyMs === undefined) return [0, Number.POSITIVE_INFINITY];
  let least = 0;
  let most = latencyMs.count;
  for (const [name, share] of QUANTILES) {
    const rank = rankOf(share, latencyMs.count);
    if (latencyMs[name] <= limitMs) least = Math.max(least, rank);
    else most = Math.min(most, rank - 1);
  }
  if (latencyHistogram === undefined) return [least, most];
  const { boundsMs, counts } = latencyHistogram;
  const countOf = (shift: 0 | 1) =>
    counts.reduce((sum, n, i) => ((boundsMs[i + shift] as number) <= limitMs ? sum + n : sum), 0);
  return [Math.max(least, countOf(1)), Math.min(most, countOf(0))];
}

/**
 * partLatencyFaults finds where a summary and a histogram of all values are not those of the parts that they are divided
 * into: the mean, the maximum, percentiles beyond those of every part, and the counts of buckets.
 */
export function partLatencyFaults(
  all: Latencies,
  parts: readonly Latencies[],
  { named, off = 0 }: { readonly named: string; readonly off?: number },
): Fault[] {
  const { latencyMs, latencyHistogram } = all;
  const summaries = parts.flatMap((part) => part.latencyMs ?? []);
  if (latencyMs === undefined || summaries.length === 0) return [];
  const sum = summaries.reduce((before, { count, mean }) => before + count * mean, 0);
  const mean = sum / latencyMs.count;
  const faults = isBetween(latencyMs.mean, mean, mean)
    ? []
    : [fault(`is ${latencyMs.mean}, and by the ${named} it is ${mean}`, '/latencyMs/mean')];
  for (const [name] of QUANTILES) {
    const values = summaries.map((summary) => summary[name]);
    const most = values.reduce((one, other) => Math.max(one, other));
    const least = name === 'max' ? most : values.reduce((one, other) => Math.min(one, other));
    if (!isBetween(latencyMs[name], least * (1 - off), most * (1 + off)))
      faults.push(
        fault(`is ${latencyMs[name]}, and by the ${named} from ${least} to ${most}`, `/latencyMs/${name}`),
      );
  }
  const histograms = parts.flatMap((part) => part.latencyHistogram ?? []);
  // Percentiles that are off may lie in another bucket of the sum than of their part.
  if (latencyHistogram === undefined || histograms.length !== summaries.length || off > 0) return faults;
  const together = new Map<number, number>();
  for (const { boundsMs, counts } of histograms)
    for (const [i, count] of counts.entries()) {
      const bound = boundsMs[i] as number;
      together.set(bound, (together.get(bound) ?? 0) + count);
    }
  for (const [i, count] of latencyHistogram.counts.entries()) {
    const those = together.get(latencyHistogram.boundsMs[i] as number) ?? 0;
    if (those !== count)
      faults.push(fault(`is ${count}, and by the ${named} it is ${those}`, `/latencyHistogram/counts/${i}`));
  }
  return faults;
}

function rankOf(share: number, count: number): number {
  return Math.max(1, Math.ceil(share * count - 1e-9));
}
