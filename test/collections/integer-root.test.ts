import { describe, expect, it } from 'vitest';
import { integerRoot, powerOf } from '../../src/collections/integer-root.js';

describe('integerRoot()', () => {
  it('is exact at perfect powers and on both sides of them', () => {
    for (const degree of [1, 2, 3, 4, 5, 8])
      for (const root of [2, 3, 7, 10, 12, 50, 100]) {
        const power = Number(BigInt(root) ** BigInt(degree));
        if (power > 2 ** 50) continue;
        const found = [power - 1, power, power + 0.5, power + 1].map((value) => integerRoot(value, degree));
        expect({ degree, root, found }).toEqual({
          degree,
          root,
          found: [root - 1, root, root, degree === 1 ? root + 1 : root],
        });
      }
  });

  it('is 1 of what is below the second power, and 0 of what is below 1', () => {
    expect([integerRoot(1, 3), integerRoot(7.9, 3), integerRoot(3.9, 2)]).toEqual([1, 1, 1]);
    expect([integerRoot(0.9, 3), integerRoot(0, 2)]).toEqual([0, 0]);
  });
});

describe('powerOf()', () => {
  it('multiplies, from 1 on', () => {
    expect([powerOf(3, 0), powerOf(3, 1), powerOf(3, 5), powerOf(1.5, 2)]).toEqual([1, 3, 243, 2.25]);
  });
});
