import { describe, expect, it } from 'vitest';
import {
  attainmentOverRuns,
  highestLowerEnd,
  meanOverRuns,
  shareOf,
  studentQuantile,
} from '../../src/metrics/confidence.js';
import { streamOf } from '../../src/random/index.js';

describe("Student's t", () => {
  it.each([
    [1, 12.7062],
    [2, 4.3027],
    [3, 3.1824],
    [4, 2.7764],
    [5, 2.5706],
    [9, 2.2622],
    [10, 2.2281],
    [30, 2.0423],
    [120, 1.9799],
  ])('has the printed 97.5 % quantile at %i degrees of freedom', (degrees, printed) => {
    expect(studentQuantile(0.975, degrees)).toBeCloseTo(printed, 4);
  });

  it('has the printed quantiles at 7 degrees of freedom', () => {
    const printed = [1.4149, 1.8946, 2.998, 3.4995];
    expect([0.9, 0.95, 0.99, 0.995].map((p) => Number(studentQuantile(p, 7).toFixed(4)))).toEqual(printed);
  });
});

describe('means over runs', () => {
  it('contain the true mean as often as they say', () => {
    const stream = streamOf(5, 'confidence');
    for (const runs of [2, 5, 8]) {
      let held = 0;
      for (let i = 0; i < 4000; i++) {
        const { low, high } = meanOverRuns(
          Array.from({ length: runs }, () => 3 + 2 * stream.normal()),
          0.9,
        );
        if (low <= 3 && 3 <= high) held += 1;
      }
      // The share of 4,000 intervals lies within four deviations of 0.9.
      expect(Math.abs(held / 4000 - 0.9)).toBeLessThan(0.019);
    }
  });

  it('need two runs', () => {
    expect(() => meanOverRuns([0.9])).toThrow(RangeError);
  });

  it('of faultless runs do not promise that no request will ever be late', () => {
    const { low, high, mean } = attainmentOverRuns([1, 1, 1], 1000);
    // The probability that 1,000 requests are all in time is 2.5 % at an attainment of `low`.
    expect(low ** 1000).toBeCloseTo(0.025, 9);
    expect([mean, high]).toEqual([1, 1]);
  });

  it('of attainments stay between 0 and 1', () => {
    expect(attainmentOverRuns([0.01, 0.5], 100).low).toBe(0);
    expect(attainmentOverRuns([0.6, 1], 100).high).toBe(1);
  });
});

describe('highestLowerEnd()', () => {
  it('is reached by some runs to come, and passed by none', () => {
    const stream = streamOf(7, 'lower ends');
    for (let i = 0; i < 18; i++) {
      const known = Array.from({ length: 2 + (i % 6) }, () => 0.9 + 0.1 * stream.uniform());
      const left = 8 - known.length;
      const most = highestLowerEnd(known, left);
      const lowWith = (others: readonly number[]) => meanOverRuns([...known, ...others]).low;
      const alike = Array.from({ length: 201 }, (_, n) => lowWith(Array(left).fill(n / 200)));
      expect(Math.max(...alike)).toBeLessThanOrEqual(most + 1e-12);
      expect(Math.max(...alike)).toBeGreaterThan(most - 2e-3);
      for (let n = 0; n < 20; n++)
        expect(lowWith(Array.from({ length: left }, () => stream.uniform() ** 0.1))).toBeLessThanOrEqual(
          most + 1e-12,
        );
    }
  });
});

describe('shareOf()', () => {
  it.each([
    [81, 263, 0.2553, 0.3662],
    [15, 148, 0.0624, 0.1605],
    [0, 20, 0, 0.1611],
    [1, 29, 0.0061, 0.1718],
  ])(
    "has the interval that Newcombe (1998) prints for Wilson's score of %i in %i",
    (count, of, low, high) => {
      const figure = shareOf(count, of);
      expect(figure.share).toBe(count / of);
      expect(figure.low).toBeCloseTo(low, 4);
      expect(figure.high).toBeCloseTo(high, 4);
    },
  );

  it('mirrors itself, and never leaves 0 to 1', () => {
    for (const [count, of] of [
      [0, 1],
      [1, 1],
      [3, 10],
      [0, 1e6],
    ] as const) {
      const [some, others] = [shareOf(count, of), shareOf(of - count, of)];
      expect(some.low).toBeCloseTo(1 - others.high, 12);
      expect(some.low).toBeGreaterThanOrEqual(0);
      expect(some.high).toBeLessThanOrEqual(1);
    }
    expect(shareOf(5, 5).high).toBe(1);
    expect(() => shareOf(0, 0)).toThrow(RangeError);
  });
});
