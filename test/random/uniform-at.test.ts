import { describe, expect, it } from 'vitest';
import { uniformAt } from '../../src/random/index.js';
import { inWholeRun } from '../cases.js';

const COUNT = 100_000;

/** Pearson's statistic of counts that should be equal, less its mean, in its standard deviations. */
function surprise(counts: readonly number[]): number {
  const expected = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  const chi = counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  const freedom = counts.length - 1;
  return (chi - freedom) / Math.sqrt(2 * freedom);
}

describe('uniformAt()', () => {
  it('gives the same number for a place and column whatever was asked before, and others under other seeds and purposes', () => {
    const uniform = uniformAt(7, 'verdict/a');
    const first = uniform(3, 5);
    uniform(4, 5);
    expect(uniform(3, 5)).toBe(first);
    expect(uniformAt(7, 'verdict/a')(3, 5)).toBe(first);
    const others = [
      uniformAt(8, 'verdict/a')(3, 5),
      uniformAt(7, 'verdict/b')(3, 5),
      uniform(4, 5),
      uniform(3, 6),
    ];
    expect(new Set([first, ...others]).size).toBe(5);
  });

  inWholeRun('spreads its numbers evenly over [0, 1), along places and along columns', () => {
    for (const at of [(i: number) => [i, 0], (i: number) => [9, i], (i: number) => [2 ** 40 + 64 * i, 3]]) {
      const uniform = uniformAt(1, 'spread');
      const counts = new Array<number>(100).fill(0);
      for (let i = 0; i < COUNT; i++) {
        const [place, column] = at(i) as [number, number];
        const value = uniform(place, column);
        expect(value >= 0 && value < 1).toBe(true);
        counts[Math.floor(100 * value)]! += 1;
      }
      expect(Math.abs(surprise(counts))).toBeLessThan(4);
    }
  });

  it('gives neighbouring places and columns numbers that do not go together', () => {
    const uniform = uniformAt(1, 'pairs');
    for (const next of [(i: number) => [i + 1, 0], (i: number) => [i, 1], (i: number) => [i + 2 ** 32, 0]]) {
      const counts = new Array<number>(64).fill(0);
      for (let i = 0; i < COUNT; i++) {
        const [place, column] = next(i) as [number, number];
        counts[8 * Math.floor(8 * uniform(i, 0)) + Math.floor(8 * uniform(place, column))]! += 1;
      }
      expect(Math.abs(surprise(counts))).toBeLessThan(4);
    }
  });

  it('refuses seeds that are no numbers', () => {
    expect(() => uniformAt(Number.NaN, 'x')).toThrow('Cannot seed numbers: NaN is not a finite number');
  });
});
