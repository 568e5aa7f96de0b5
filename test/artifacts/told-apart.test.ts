import { describe, expect, it } from 'vitest';
import { toldApart } from '../../src/artifacts/index.js';
import { streamOf } from '../../src/random/index.js';

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

  it('keeps the order of any figures, however near, and each to half of its last digit', () => {
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
