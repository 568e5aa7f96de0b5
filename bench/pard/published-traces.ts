import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TRACE_VARIATIONS, type TraceName, withMeanOne } from './made-traces.js';
import { rateVariation, variationOf } from './rate-variation.js';

const FOLDER = fileURLToPath(new URL('../../../../shared/traces/', import.meta.url));
const MINUTES_PER_DAY = 1440;
const S_PER_MINUTE = 60;
const LEAST_S = 300;

/** PUBLISHED_FILES names the file that stands for each of the paper's traces, in `../shared/traces`. */
export const PUBLISHED_FILES: { readonly [T in TraceName]: string } = {
  wiki: join(FOLDER, 'worldcup98-june-per-minute.csv'),
  tweet: join(FOLDER, 'twitter-2018-04-per-second-day1.csv'),
  azure: join(FOLDER, 'azure-functions-2019-100-functions-per-minute.csv'),
};

/** PublishedRates is the part of a published trace that is served for one of the paper's. */
export interface PublishedRates {
  /** Of each second that is served, with a mean of 1. */
  readonly rates: Float64Array;
  /** What it is, for a person. */
  readonly what: string;
}

/** hasPublished tells whether the published traces are beside the checkout. */
export function hasPublished(): boolean {
  return Object.values(PUBLISHED_FILES).every((path) => existsSync(path));
}

/**
 * publishedRates gives the part of a published trace that is served for one of the paper's.
 * @throws Error as `pickedRates` does, and where the traces are not beside the checkout
 */
export function publishedRates(trace: TraceName, seconds: number): PublishedRates {
  const path = PUBLISHED_FILES[trace];
  const lines = readFileSync(path, 'utf8').trim().split(/\r?\n/).slice(1);
  return pickedRates(trace, { name: basename(path), lines }, seconds);
}

/**
 * pickedRates picks the part of a published trace whose rate varies most nearly as that of one of the paper's, by the
 * rule of docs/pard.md:
 *
 * - `tweet` and `azure` are served in their own time, and `wiki`, whose period is a day, a minute in a second.
 * - `azure` is the sum of the first functions of the file: as many as have, by the minutes of the whole day, the CV that
 *   is nearest to the paper's.
 * - Windows of the length asked for begin at every minute of the file, those of `wiki` at every hour. One with nothing
 *   in some second or minute is passed over, as what was recorded has a gap, but not of `azure`, whose functions rest.
 *   Of the others, the first is taken whose CV is nearest to the paper's.
 *
 * @param seconds at least 300: five minutes of `azure`, within which nothing is known of when requests came
 * @throws Error where they are fewer, or more than the trace has
 */
export function pickedRates(
  trace: TraceName,
  { name, lines }: { readonly name: string; readonly lines: readonly string[] },
  seconds: number,
): PublishedRates {
  if (seconds < LEAST_S) throw new Error(`published traces are served for ${LEAST_S} s at least`);
  const target = TRACE_VARIATIONS[trace];
  switch (trace) {
    case 'wiki': {
      const found = nearestWindow(countsOf(lines), { seconds, every: S_PER_MINUTE, target, gaps: true });
      return { rates: found.rates, what: `${name} from minute ${found.from}, a minute in a second` };
    }
    case 'tweet': {
      const found = nearestWindow(countsOf(lines), { seconds, every: S_PER_MINUTE, target, gaps: true });
      return { rates: found.rates, what: `${name} from second ${found.from}` };
    }
    case 'azure': {
      const { functions, minutes } = firstFunctions(lines, target);
      const counts = minutes.flatMap((count) => Array<number>(S_PER_MINUTE).fill(count / S_PER_MINUTE));
      const found = nearestWindow(counts, { seconds, every: S_PER_MINUTE, target, gaps: false });
      const from = found.from / S_PER_MINUTE;
      return { rates: found.rates, what: `the first ${functions} functions of ${name} from minute ${from}` };
    }
  }
}

function countsOf(lines: readonly string[]): number[] {
  return lines.map((line) => Number(line.split(',')[1]));
}

interface WindowRule {
  readonly seconds: number;
  /** Windows begin so many counts apart. */
  readonly every: number;
  readonly target: number;
  /** Whether a count of 0 is a gap of what was recorded. */
  readonly gaps: boolean;
}

/** nearestWindow finds the first window of counts whose CV is nearest to the target. @throws Error where there is none */
function nearestWindow(
  counts: readonly number[],
  { seconds, every, target, gaps }: WindowRule,
): { readonly from: number; readonly rates: Float64Array } {
  let best: { from: number; off: number } | undefined;
  let lastGap = -1;
  let looked = 0;
  for (let from = 0; from + seconds <= counts.length; from += every) {
    for (; looked < from + seconds; looked++) if (counts[looked] === 0) lastGap = looked;
    if (gaps && lastGap >= from) continue;
    const off = Math.abs(rateVariation(counts.slice(from, from + seconds)) - target);
    // Nothing came in a window without a variation.
    if (Number.isNaN(off)) continue;
    if (best === undefined || off < best.off) best = { from, off };
  }
  if (best === undefined) throw new Error(`the trace has no window of ${seconds} s`);
  return {
    from: best.from,
    rates: withMeanOne(Float64Array.from(counts.slice(best.from, best.from + seconds))),
  };
}

/** firstFunctions adds up functions in the order of the file. The counts follow three columns of hashes. */
function firstFunctions(
  lines: readonly string[],
  target: number,
): { readonly functions: number; readonly minutes: number[] } {
  let sum = Array<number>(MINUTES_PER_DAY).fill(0);
  let best = { functions: 0, minutes: sum, off: Number.POSITIVE_INFINITY };
  for (const [k, line] of lines.entries()) {
    const own = line.split(',').slice(-MINUTES_PER_DAY).map(Number);
    sum = sum.map((count, minute) => count + (own[minute] as number));
    const off = Math.abs(variationOf(sum) - target);
    if (off < best.off) best = { functions: k + 1, minutes: sum, off };
  }
  return best;
}
