import { describe, expect, it } from 'vitest';
import { toldApart, toldBeyond, toldDown, toldUp, toldUpBelow } from '../../src/formats/index.js';
import { streamOf } from '../../src/random/index.js';
import { describeInWholeRun, inWholeRun } from '../cases.js';

describe('toldApart()', () => {
  it('has four digits where they are enough, and the same figure for the same value', () => {
    expect(toldApart([24.94371, 30])).toEqual([24.94, 30]);
    expect(toldApart([1 / 3, 1 / 3])).toEqual([0.3333, 0.3333]);
    expect(toldApart([10000.4, 5])).toEqual([10000, 5]);
    expect(toldApart([0, -0.12345])).toEqual([0, -0.1235]);
  });

  it('has as many more as keep figures apart', () => {
    expect(toldApart([24.9437, 24.94])).toEqual([24.944, 24.94]);
    expect(toldApart([99.99999, 100])).toEqual([99.99999, 100]);
    expect(toldApart([1, 1 + Number.EPSILON])).toEqual([1, 1 + Number.EPSILON]);
  });

  inWholeRun('keeps the order of any figures, however near, and each to half of its last digit', () => {
    const { uniform } = streamOf(7, 'told apart');
    for (let i = 0; i < 20_000; i++) {
      const value = 10 ** (12 * uniform() - 6);
      const other = value * (1 + 10 ** (-17 * uniform()) * (uniform() < 0.5 ? -1 : 1));
      const [a, b] = toldApart([value, other]);
      expect(Math.sign(a - b)).toBe(Math.sign(value - other));
      expect(Math.abs(a - value)).toBeLessThanOrEqual(5.001e-4 * value);
    }
  });
});

describe('toldUp() and toldDown()', () => {
  it('have the nearest figure of four digits on their side', () => {
    expect([66.6666, 98.761, 1777.78, 4000, 0.00123451, 99.991].map((value) => toldUp(value))).toEqual([
      66.67, 98.77, 1778, 4000, 0.001235, 100,
    ]);
    expect([66.6666, 98.769, 0.00123459, 10].map((value) => toldDown(value))).toEqual([
      66.66, 98.76, 0.001234, 10,
    ]);
    expect([toldUp(0), toldUp(-12.346), toldUp(0.1 + 0.2)]).toEqual([0, -12.34, 0.3]);
  });

  inWholeRun('enclose any value by less than one in the last digit', () => {
    const { uniform } = streamOf(11, 'rounded');
    for (let i = 0; i < 20_000; i++) {
      const value = 10 ** (16 * uniform() - 8) * (uniform() < 0.2 ? -1 : 1);
      const digits = 1 + Math.floor(8 * uniform());
      const [up, down] = [toldUp(value, digits), toldDown(value, digits)];
      const noise = 1e-12 * Math.abs(value);
      const unit = 10 ** (Math.floor(Math.log10(Math.abs(value))) + 1 - digits);
      expect(up).toBeGreaterThanOrEqual(value - noise);
      expect(down).toBeLessThanOrEqual(value + noise);
      expect(up - value).toBeLessThan(unit * (1 + 1e-9));
      expect(value - down).toBeLessThan(unit * (1 + 1e-9));
      expect([up, down]).toEqual([up, down].map((one) => Number(one.toPrecision(digits))));
    }
  });
});

describeInWholeRun('toldUpBelow()', () => {
  it('is no smaller than what it stands for and below the limit, with no more digits than that takes', () => {
    expect(toldUpBelow(98.761, 100)).toBe(98.77);
    expect(toldUpBelow(99.9961, 100)).toBe(99.997);
    expect(toldUpBelow(0.94999, 0.95)).toBe(0.94999);
    const { uniform } = streamOf(13, 'below');
    for (let i = 0; i < 20_000; i++) {
      const limit = [100, 0.95, 1, 1800, 10 ** (6 * uniform() - 3)][i % 5]!;
      const value = limit * (1 - 10 ** (-10 * uniform() - 0.01));
      const told = toldUpBelow(value, limit);
      expect(told).toBeGreaterThanOrEqual(value * (1 - 1e-12));
      expect(told).toBeLessThan(limit);
    }
  });
});

describe('toldBeyond()', () => {
  it('writes a figure beyond a limit apart from it, however near, with an exponent where both are large', () => {
    expect(toldBeyond(1.04e9, 1e9)).toEqual(['1.04e+9', '1e+9']);
    expect(toldBeyond(1e9 + 1, 1e9)).toEqual(['1.000000001e+9', '1e+9']);
    expect(toldBeyond(104.3, 104.25)).toEqual(['104.3', '104.25']);
    expect(toldBeyond(Number.POSITIVE_INFINITY, 5)).toEqual(['Infinity', '5']);
  });
});
