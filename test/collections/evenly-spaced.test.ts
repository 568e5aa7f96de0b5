import { describe, expect, it } from 'vitest';
import { evenlySpaced } from '../../src/collections/index.js';

describe('evenlySpaced()', () => {
  it('gives both ends and equal steps between', () => {
    expect(evenlySpaced(0, 1, 5)).toEqual([0, 0.25, 0.5, 0.75, 1]);
    expect(evenlySpaced(10, 4, 4)).toEqual([10, 8, 6, 4]);
    expect(evenlySpaced(2, 7, 2)).toEqual([2, 7]);
  });

  it('has the decimals that a person would write, where sums of steps do not', () => {
    const found = evenlySpaced(0.1, 1.2, 12);
    expect(found).toEqual([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2]);
    let sum = 0.1;
    const sums = found.map((_, i) => {
      if (i > 0) sum += 0.1;
      return sum;
    });
    expect(sums).not.toEqual(found);
  });

  it('gives the first end alone where one point is asked for', () => {
    expect(evenlySpaced(3, 9, 1)).toEqual([3]);
    expect(evenlySpaced(1 / 3, 9, 1)).toEqual([1 / 3]);
  });
});
