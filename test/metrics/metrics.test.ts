import { describe, expect, it } from 'vitest';
import { outcomeRates, quantileOfSorted, summarizeLatencies } from '../../src/metrics/index.js';
import { streamOf } from '../../src/random/index.js';

describe('quantileOfSorted()', () => {
  it('is the nearest rank, the smallest value with a share of at least p at or below it', () => {
    const stream = streamOf(1, 'quantiles');
    for (let n = 1; n <= 60; n++) {
      const sorted = Float64Array.from({ length: n }, () => stream.integer(20)).sort();
      for (let percent = 0; percent <= 100; percent++) {
        const q = quantileOfSorted(sorted, percent / 100)!;
        const atOrBelow = sorted.filter((v) => v <= q).length;
        const below = sorted.filter((v) => v < q).length;
        expect(100 * atOrBelow).toBeGreaterThanOrEqual(percent * n);
        if (percent > 0) expect(100 * below).toBeLessThan(percent * n);
      }
    }
  });

  it('is undefined where there are no values, and refuses a p outside [0, 1]', () => {
    expect(quantileOfSorted([], 0.5)).toBeUndefined();
    for (const p of [1.5, -0.1, Number.NaN])
      expect(() => quantileOfSorted([1], p)).toThrow(`${p} is not in [0, 1]`);
  });
});

describe('summarizeLatencies()', () => {
  it('gives mean, percentiles and maximum of values in any order', () => {
    const values = Array.from({ length: 100 }, (_, i) => 100 - i);
    expect(summarizeLatencies(values)).toEqual({
      count: 100,
      mean: 50.5,
      p50: 50,
      p90: 90,
      p95: 95,
      p99: 99,
      max: 100,
    });
    expect(summarizeLatencies([])).toBeUndefined();
  });
});

describe('outcomeRates()', () => {
  it('counts late answers as dropped, and cancelled requests in no rate', () => {
    const rates = outcomeRates({ inTime: 6, late: 1, dropped: 2, failed: 1, cancelled: 90 }, 2);
    expect(rates).toEqual({ attainment: 0.6, dropRate: 0.3, throughputRps: 3.5, goodputRps: 3 });
  });

  it('has no shares when nothing was counted', () => {
    const rates = outcomeRates({ inTime: 0, late: 0, dropped: 0, failed: 0, cancelled: 3 }, 1);
    expect(rates.attainment).toBeUndefined();
    expect(rates.dropRate).toBeUndefined();
  });
});
