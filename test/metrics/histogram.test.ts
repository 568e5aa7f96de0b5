import { describe, expect, it } from 'vitest';
import {
  ExactValues,
  HISTOGRAM_RELATIVE_ERROR,
  Histogram,
  quantileOfSorted,
  summarizeLatencies,
  summaryOf,
} from '../../src/metrics/index.js';
import { type Stream, streamOf } from '../../src/random/index.js';

const SHARES = [0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1];

/**
 * KINDS draws whole numbers of many distributions: small, wide, long-tailed, constant, with zeros, near powers of two.
 */
const KINDS: Record<string, (stream: Stream) => number> = {
  small: (stream) => stream.integer(20),
  wide: (stream) => Math.floor(2 ** (stream.uniform() * 52)),
  tailed: (stream) => Math.round(1e7 * stream.exponential() ** 3),
  same: () => 123_456_789,
  'mostly zero': (stream) => (stream.uniform() < 0.7 ? 0 : stream.integer(1e9)),
  powers: (stream) => 2 ** stream.integer(53) + stream.integer(3) - 1,
};

function drawn(kind: string, count: number, seed: number): number[] {
  const stream = streamOf(seed, kind);
  return Array.from({ length: count }, () => (KINDS[kind] as (stream: Stream) => number)(stream));
}

function filled<V extends Histogram | ExactValues>(into: V, values: readonly number[]): V {
  for (const value of values) into.record(value);
  return into;
}

describe('Histogram', () => {
  it.each(Object.keys(KINDS))(
    'keeps quantiles of %s values within its stated error, and both extremes exact',
    (kind) => {
      for (let seed = 0; seed < 40; seed++) {
        const values = drawn(kind, 1 + (seed % 7) * 53, seed);
        const histogram = filled(new Histogram(), values);
        const sorted = Float64Array.from(values).sort();
        for (const p of SHARES) {
          const exact = quantileOfSorted(sorted, p) as number;
          const kept = histogram.quantile(p) as number;
          expect(Math.abs(kept - exact)).toBeLessThanOrEqual(exact * HISTOGRAM_RELATIVE_ERROR);
        }
        expect(histogram.quantile(1)).toBe(sorted.at(-1));
        expect([histogram.count, histogram.least, histogram.greatest]).toEqual([
          values.length,
          sorted[0],
          sorted.at(-1),
        ]);
        expect(histogram.sum).toBe(values.reduce((sum, value) => sum + value, 0));
      }
    },
  );

  it('is exact for whole numbers below 512', () => {
    for (let value = 0; value < 512; value++) {
      const histogram = filled(new Histogram(), [value, value, 4096]);
      expect(histogram.quantile(0.5)).toBe(value);
    }
  });

  it('has a worst value that reaches the stated error', () => {
    let worst = 0;
    for (let value = 2 ** 20; value < 2 ** 20 + 2 ** 13; value++)
      worst = Math.max(
        worst,
        Math.abs((filled(new Histogram(), [value, 2 ** 21]).quantile(0.5) as number) - value) / value,
      );
    expect(worst).toBeGreaterThan(0.99 * HISTOGRAM_RELATIVE_ERROR);
    expect(worst).toBeLessThanOrEqual(HISTOGRAM_RELATIVE_ERROR);
  });

  it('gives the same figures, merged in any order, as one histogram of all values', () => {
    for (let seed = 0; seed < 30; seed++) {
      const parts = Object.keys(KINDS).map((kind, i) => drawn(kind, (seed * 7 + i * 11) % 60, seed));
      const together = filled(new Histogram(), parts.flat());
      const merged = new Histogram();
      const order = seed % 2 === 0 ? parts : [...parts].reverse();
      for (const part of order) merged.merge(filled(new Histogram(), part));
      for (const p of SHARES) expect(merged.quantile(p)).toBe(together.quantile(p));
      expect([merged.count, merged.least, merged.greatest]).toEqual([
        together.count,
        together.least,
        together.greatest,
      ]);
    }
  });

  it('is empty at first and after clear()', () => {
    const histogram = new Histogram();
    expect(histogram.quantile(0.5)).toBeUndefined();
    expect(summaryOf(filled(histogram, [5, 7]), 1)).toMatchObject({ count: 2, mean: 6, max: 7 });
    histogram.clear();
    expect(summaryOf(histogram, 1)).toBeUndefined();
    expect(histogram.quantile(0.5)).toBeUndefined();
    expect(filled(histogram, [3]).quantile(0)).toBe(3);
  });
});

describe('ExactValues', () => {
  it('gives the same summary as sorting, merged or not, in any unit', () => {
    for (let seed = 0; seed < 20; seed++) {
      const parts = ['wide', 'tailed', 'small'].map((kind) => drawn(kind, seed * 40, seed));
      const together = filled(new ExactValues(), parts.flat());
      const merged = new ExactValues();
      for (const part of parts) merged.merge(filled(new ExactValues(), part));
      const inUnit = parts.flat().map((value) => value / 1e6);
      const expected = summarizeLatencies(inUnit);
      for (const values of [together, merged]) {
        const summary = summaryOf(values, 1e6);
        expect(summary === undefined).toBe(expected === undefined);
        if (summary === undefined || expected === undefined) continue;
        expect(summary.mean).toBeCloseTo(expected.mean, 6);
        expect({ ...summary, mean: 0 }).toEqual({ ...expected, mean: 0 });
      }
    }
  });

  it('records further values after a quantile was asked for, and after clear()', () => {
    const values = filled(new ExactValues(), [5, 1, 3]);
    expect(values.quantile(0.5)).toBe(3);
    expect(filled(values, [0, 0, 0]).quantile(0.5)).toBe(0);
    values.clear();
    expect([values.quantile(0.5), filled(values, [9]).quantile(0.5), values.greatest]).toEqual([
      undefined,
      9,
      9,
    ]);
  });
});
