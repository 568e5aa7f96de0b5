import { expect, it } from 'vitest';
import { largestOf, pushAll, smallestOf } from '../../src/collections/index.js';

it('largestOf() and smallestOf() say what Math.max and Math.min do, of lists of any length', () => {
  for (const values of [[], [3], [2, -7, 5], [1, Number.NaN, 2], [-Infinity], [Infinity, 0]]) {
    expect(largestOf(values)).toBe(Math.max(...values));
    expect(smallestOf(values)).toBe(Math.min(...values));
  }
  const many = new Float64Array(1_000_000).map((_, i) => (i * 7919) % 1_000_003);
  expect(largestOf(many)).toBe(many.reduce((a, b) => Math.max(a, b)));
  expect(smallestOf(many)).toBe(0);
});

it('pushAll() adds a million values', () => {
  const list = [1];
  pushAll(list, new Int32Array(1_000_000).fill(2));
  expect(list).toHaveLength(1_000_001);
  expect(list.slice(0, 3)).toEqual([1, 2, 2]);
});
