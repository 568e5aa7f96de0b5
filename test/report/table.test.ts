import { describe, expect, it } from 'vitest';
import { streamOf } from '../../src/random/index.js';
import { bytes, figure, milliseconds, percent } from '../../src/report/index.js';
import { atLeast, atMost, decimals, leastPercent, plain } from '../../src/report/table.js';
import { describeInWholeRun } from '../cases.js';

describe('figure()', () => {
  it('keeps three digits at any size', () => {
    const cases: [number, string][] = [
      [0, '0'],
      [0.1234, '0.123'],
      [0.01234, '0.0123'],
      [-0.000056789, '-0.0000568'],
      [1.2e-12, '1.20e-12'],
      [1.234, '1.23'],
      [12.34, '12.3'],
      [9.999, '10.0'],
      [99.96, '100'],
      [999.6, '1 000'],
      [123.4, '123'],
      [2157.4, '2 157'],
      [1234567, '1 234 567'],
      [-12.34, '-12.3'],
      [Number.NaN, '—'],
    ];
    for (const [value, text] of cases) expect(figure(value)).toBe(text);
  });
});

describeInWholeRun('atMost(), atLeast() and leastPercent()', () => {
  it('round to the side on which the sentence stays true, by less than one in the last digit', () => {
    expect([857.14, 857, 12.341, 0.12341, 1234.2, 0].map((value) => figure(atMost(value)))).toEqual([
      ...['858', '857', '12.4', '0.124', '1 235', '0'],
    ]);
    expect([0.98768, 0.9876, 1, 0.99999, 0.000049].map((share) => leastPercent(share, 2))).toEqual([
      ...['98.76 %', '98.76 %', '100.00 %', '99.99 %', '0.00 %'],
    ]);
    const { uniform } = streamOf(3, 'sides');
    for (let i = 0; i < 5000; i++) {
      const value = 10 ** (9 * uniform() - 3);
      const told = Number(figure(atMost(value)).replaceAll(/\s/g, ''));
      expect(told).toBeGreaterThanOrEqual(value * (1 - 1e-12));
      expect(told).toBeLessThan(value * 1.01 + 1e-12);
      const least = Number(figure(atLeast(value)).replaceAll(/\s/g, ''));
      expect(least).toBeLessThanOrEqual(value * (1 + 1e-12));
      expect(least).toBeGreaterThan(value * 0.99 - 1e-12);
      const share = uniform();
      const inTime = Number.parseFloat(leastPercent(share, 2));
      expect(inTime).toBeLessThanOrEqual(100 * share + 1e-9);
      expect(inTime).toBeGreaterThan(100 * share - 0.01);
    }
  });
});

describe('decimals() and plain()', () => {
  it('write as many digits as they are asked for, and no sign before a zero', () => {
    expect(decimals(0.9, 2)).toBe('0.90');
    expect(decimals(12_345.678, 1)).toBe('12 345.7');
    expect(decimals(-0.0001, 2)).toBe('0.00');
    expect(plain(3600, 6)).toBe('3600');
    expect(plain(0.104762, 3)).toBe('0.105');
    expect(plain(0.1, 3)).toBe('0.1');
  });
});

describe('bytes(), milliseconds(), percent()', () => {
  it('write their units', () => {
    expect(bytes(999)).toBe('999 B');
    expect(bytes(1_204_224)).toBe('1.20 MB');
    expect(milliseconds(1500)).toBe('1.50');
    expect(percent(0.0792, 2)).toBe('7.92 %');
    expect([percent(0.99999, 2), percent(0.9999), percent(1), percent(1 - 1e-15), percent(2)]).toEqual([
      ...['99.99 %', '99.9 %', '100.0 %', '100.0 %', '200.0 %'],
    ]);
  });
});
