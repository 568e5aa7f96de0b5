import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { madeRates, TRACE_VARIATIONS, type TraceName } from '../../../bench/pard/made-traces.js';
import {
  hasPublished,
  PUBLISHED_FILES,
  pickedRates,
  publishedRates,
} from '../../../bench/pard/published-traces.js';
import { rateVariation, smoothedRates } from '../../../bench/pard/rate-variation.js';
import { streamOf } from '../../../src/random/index.js';
import { inWholeRun, WHOLE } from '../../cases.js';

const TRACES = Object.keys(TRACE_VARIATIONS) as TraceName[];

/** variation computes the CV of means over five seconds, as its definition says. */
function variation(counts: readonly number[]): number {
  const rates = counts.map((_, i) => {
    const around = counts.filter((__, k) => Math.abs(k - i) <= 2);
    return around.reduce((sum, count) => sum + count, 0) / around.length;
  });
  const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
  return Math.sqrt(rates.reduce((sum, rate) => sum + (rate - mean) ** 2, 0) / rates.length) / mean;
}

describe('rateVariation()', () => {
  it('is the deviation of means over five seconds over their mean', () => {
    expect(Array.from(smoothedRates([10, 0, 0, 0, 0, 5]))).toEqual([10 / 3, 2.5, 2, 1, 1.25, 5 / 3]);
    const stream = streamOf(1, 'counts');
    const counts = Array.from({ length: 90 }, () => stream.integer(50));
    expect(rateVariation(counts)).toBeCloseTo(variation(counts), 12);
    expect(rateVariation([3, 3, 3, 3])).toBe(0);
  });
});

describe('madeRates()', () => {
  it.each(TRACES)(
    "has the CV of the paper's trace %s and a mean of 1, for every length and seed",
    (trace) => {
      for (const [seconds, seed] of [
        [60, 0],
        [60, 7],
        [301, 1],
        [600, 2],
        [1200, 3],
      ] as const) {
        const rates = Array.from(madeRates(trace, seconds, seed));
        expect(rates).toHaveLength(seconds);
        expect(rates.reduce((sum, rate) => sum + rate, 0) / seconds).toBeCloseTo(1, 9);
        expect(variation(rates), `${seconds} s, seed ${seed}`).toBeCloseTo(TRACE_VARIATIONS[trace], 6);
        expect(Math.min(...rates)).toBeGreaterThanOrEqual(0);
        expect(Math.max(...smoothedRates(rates))).toBeLessThan(6.5);
      }
    },
  );

  it('makes the same rates again, and others with another seed or length', () => {
    for (const trace of TRACES) {
      expect(madeRates(trace, 300, 5)).toEqual(madeRates(trace, 300, 5));
      expect(madeRates(trace, 300, 5)).not.toEqual(madeRates(trace, 300, 6));
    }
  });

  inWholeRun('goes up and down with the day, wanders, or jumps, as the trace does', () => {
    const crossings = (rates: Float64Array) =>
      Array.from(smoothedRates(rates)).filter(
        (rate, i, all) => i > 0 && rate > 1 !== (all[i - 1] as number) > 1,
      ).length;
    const still = (rates: Float64Array) => rates.filter((rate, i) => rate === rates[i - 1]).length;
    const [wiki, tweet, azure] = TRACES.map((trace) => madeRates(trace, 1200, 1));
    // What wanders forgets within a minute: exp(−1) of it is left then, and the logarithm changes that a little.
    expect(remembered('tweet', 5)).toBeGreaterThan(0.85);
    expect(remembered('tweet', 60)).toBeGreaterThan(0.15);
    expect(remembered('tweet', 60)).toBeLessThan(0.5);
    expect(Math.abs(remembered('tweet', 240))).toBeLessThan(0.2);
    // Two days have four crossings of the mean, and noise adds some beside these.
    expect(crossings(wiki as Float64Array)).toBeLessThan(30);
    expect(still(azure as Float64Array)).toBeGreaterThan(1170);
    expect([still(wiki as Float64Array), still(tweet as Float64Array)]).toEqual([0, 0]);
  });
});

/** remembered is the mean correlation of rates that are so many seconds apart, over ten seeds. */
function remembered(trace: TraceName, apartS: number): number {
  const each = Array.from({ length: 10 }, (_, seed) => {
    const rates = Array.from(smoothedRates(madeRates(trace, 1200, seed)));
    const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
    const product = (lag: number) =>
      rates.slice(lag).reduce((sum, rate, i) => sum + (rate - mean) * ((rates[i] as number) - mean), 0) /
      (rates.length - lag);
    return product(apartS) / product(0);
  });
  return each.reduce((sum, one) => sum + one, 0) / each.length;
}

/** countLines writes the lines of a file of counts. */
const countLines = (counts: readonly number[]): string[] => counts.map((count) => `1,${count}`);
const minutesOf = (counts: readonly number[]): string => `a,b,c,${counts.join(',')}`;

/** nearest finds the first window that begins at a multiple of 60 and has the CV nearest to the target. */
function nearest(counts: readonly number[], seconds: number, target: number, gaps: boolean): number[] {
  const windows: number[][] = [];
  for (let from = 0; from + seconds <= counts.length; from += 60)
    windows.push(counts.slice(from, from + seconds));
  const possible = windows.filter((window) =>
    gaps ? !window.includes(0) : window.some((count) => count > 0),
  );
  const offs = possible.map((window) => Math.abs(rateVariation(window) - target));
  const window = possible[offs.indexOf(Math.min(...offs))] as number[];
  const mean = window.reduce((sum, count) => sum + count, 0) / seconds;
  return window.map((count) => count / mean);
}

describe('pickedRates()', () => {
  const stream = streamOf(3, 'recorded');
  const recorded = Array.from({ length: 1500 }, (_, s) =>
    s === 500 ? 0 : 1 + stream.integer(s % 400 < 60 ? 300 : 40),
  );

  it('takes the window without a gap whose CV is nearest, of those that begin at a minute', () => {
    for (const trace of ['wiki', 'tweet'] as const) {
      const picked = pickedRates(trace, { name: 'day.csv', lines: countLines(recorded) }, 300);
      const expected = nearest(recorded, 300, TRACE_VARIATIONS[trace], true);
      expect(Array.from(picked.rates)).toEqual(expected.map((rate) => expect.closeTo(rate, 9)));
    }
    expect(pickedRates('tweet', { name: 'day.csv', lines: countLines(recorded) }, 300).what).toMatch(
      /^day\.csv from second \d+$/,
    );
    expect(pickedRates('wiki', { name: 'june.csv', lines: countLines(recorded) }, 300).what).toMatch(
      /^june\.csv from minute \d+, a minute in a second$/,
    );
  });

  it('takes the first of windows that vary alike', () => {
    // Ten minutes recur, so that each window has its like ten minutes later.
    const part = Array.from({ length: 600 }, (_, s) => 5 + ((s * s) % 97));
    const counts = [...part, ...part, ...part];
    const picked = pickedRates('tweet', { name: 'day.csv', lines: countLines(counts) }, 300);
    const from = Number(picked.what.split(' ').at(-1));
    expect(from).toBeLessThan(600);
  });

  it('takes as many of the first functions as vary most nearly, and then a window of their minutes', () => {
    const minutes = (each: (minute: number) => number) => Array.from({ length: 1440 }, (_, m) => each(m));
    const rare = minutes((m) => (m % 7 === 0 ? 70 : 0));
    const bursts = minutes((m) => (m % 3 === 0 ? 40 + (m % 100) : 0));
    const steady = minutes(() => 500);
    const lines = [rare, bursts, steady].map(minutesOf);
    const picked = pickedRates('azure', { name: 'functions.csv', lines }, 600);
    expect(picked.what).toMatch(/^the first 2 functions of functions\.csv from minute \d+$/);
    const counts = rare.flatMap((count, m) => Array<number>(60).fill((count + (bursts[m] as number)) / 60));
    const expected = nearest(counts, 600, 1.3, false);
    expect(Array.from(picked.rates)).toEqual(expected.map((rate) => expect.closeTo(rate, 9)));
  });

  it('refuses lengths that are too short, or longer than the trace', () => {
    const file = { name: 'day.csv', lines: countLines(recorded) };
    expect(() => pickedRates('tweet', file, 299)).toThrow('for 300 s at least');
    expect(() => pickedRates('tweet', file, 1501)).toThrow('no window of 1501 s');
  });

  if (WHOLE)
    it.runIf(hasPublished())('picks windows of the published traces near the CVs of the paper', () => {
      for (const [trace, within] of [
        ['wiki', 0.01],
        ['tweet', 0.15],
        ['azure', 0.02],
      ] as const) {
        const { rates, what } = publishedRates(trace, 1200);
        expect(what).toContain(basename(PUBLISHED_FILES[trace]));
        expect(rates).toHaveLength(1200);
        expect(Math.abs(variation(Array.from(rates)) - TRACE_VARIATIONS[trace])).toBeLessThan(within);
      }
      const day = readFileSync(PUBLISHED_FILES.tweet, 'utf8').trim().split('\n').slice(1);
      const counts = day.map((line) => Number(line.split(',')[1]));
      expect(Array.from(publishedRates('tweet', 1200).rates)).toEqual(
        nearest(counts, 1200, 1, true).map((rate) => expect.closeTo(rate, 9)),
      );
    });
});
