import { describe, expect, it } from 'vitest';
import type { TensorData } from '../../src/execution/index.js';
import { difference } from '../../src/profiler/chain.js';

const { POSITIVE_INFINITY: INFINITY, NaN: NOT_A_NUMBER } = Number;
const float = (...values: number[]): TensorData => ({
  dtype: 'float32',
  dims: [values.length],
  data: Float32Array.from(values),
});

describe('difference()', () => {
  it('is the largest change over the largest finite magnitude', () => {
    expect(difference(float(1, -4), float(1, -4))).toBe(0);
    expect(difference(float(1, -4), float(2, -4))).toBe(0.25);
    expect(difference(float(0, 0), float(0, 0.5))).toBe(0.5);
  });

  it('finds a change beside infinities that are equal', () => {
    expect(difference(float(INFINITY, -INFINITY, 4), float(INFINITY, -INFINITY, 4))).toBe(0);
    expect(difference(float(INFINITY, -INFINITY, 4), float(INFINITY, -INFINITY, 3))).toBe(0.25);
    expect(difference(float(NOT_A_NUMBER, 4), float(NOT_A_NUMBER, 3))).toBe(0.25);
  });

  it('is infinite where an infinity or not-a-number is on one side only, or has another sign', () => {
    for (const other of [1, -INFINITY, NOT_A_NUMBER]) {
      expect(difference(float(INFINITY, 1), float(other, 1))).toBe(INFINITY);
      expect(difference(float(other, 1), float(INFINITY, 1))).toBe(INFINITY);
    }
    expect(difference(float(NOT_A_NUMBER), float(1))).toBe(INFINITY);
    expect(difference(float(1), float(NOT_A_NUMBER))).toBe(INFINITY);
  });

  it('finds integers apart that are one number as doubles, and shapes that differ', () => {
    const big = (value: bigint): TensorData => ({
      dtype: 'int64',
      dims: [2],
      data: BigInt64Array.of(value, 5n),
    });
    expect(difference(big(2n ** 60n), big(2n ** 60n + 1n))).toBeGreaterThan(0);
    expect(difference(big(2n ** 60n), big(2n ** 60n))).toBe(0);
    expect(difference(float(1), float(1, 1))).toBe(INFINITY);
    expect(difference(float(1), undefined)).toBe(INFINITY);
  });
});
