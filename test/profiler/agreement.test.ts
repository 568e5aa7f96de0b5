import { Float16Array } from '@petamoriken/float16';
import { describe, expect, test } from 'vitest';
import type { TensorData } from '../../src/execution/index.js';
import { agree, batchingOf, confirmedBatching, differenceOf } from '../../src/profiler/agreement.js';

function float(dims: number[], data: number[]): TensorData {
  return { dtype: 'float32', dims, data: Float32Array.from(data) };
}
/** half makes a float16 tensor as ONNX Runtime gives it: as bits. */
function half(dims: number[], data: number[]): TensorData {
  const bits = new Uint16Array(Float16Array.from(data).buffer as ArrayBuffer);
  return { dtype: 'float16', dims, data: bits };
}
function int64(data: number[]): TensorData {
  return { dtype: 'int64', dims: [data.length], data: BigInt64Array.from(data.map(BigInt)) };
}

describe('batchingOf()', () => {
  test('finds the axis along which the two requests join into the tensor of both', () => {
    expect(batchingOf(float([1, 2], [1, 2]), float([1, 2], [3, 4]), float([2, 2], [1, 2, 3, 4]))).toEqual({
      kind: 'stacked',
      axis: 0,
    });
    const later = batchingOf(float([2, 1], [1, 2]), float([2, 1], [3, 4]), float([2, 2], [1, 3, 2, 4]));
    expect(later).toEqual({ kind: 'stacked', axis: 1 });
  });
  test('accepts an axis of several rows per request only when the requests lie one after the other', () => {
    const [first, second] = [float([2, 1], [1, 2]), float([2, 1], [3, 4])];
    expect(batchingOf(first, second, float([4, 1], [1, 2, 3, 4]))).toEqual({ kind: 'stacked', axis: 0 });
    expect(batchingOf(first, second, float([4, 1], [1, 3, 2, 4]))).toMatchObject({ kind: 'mixed' });
  });
  test('finds the batch axis of float16 tensors even if batch 2 rounds the last bit differently', () => {
    const ulp = 2 ** -10;
    const both = half([2, 2], [1 + ulp, 0.5, 0.25, 1 - ulp]);
    expect(batchingOf(half([1, 2], [1, 0.5]), half([1, 2], [0.25, 1]), both)).toEqual({
      kind: 'stacked',
      axis: 0,
    });
  });
  test('calls a tensor common when it is the same for each request and for both', () => {
    const mask = float([3], [1, 0, 1]);
    expect(batchingOf(mask, mask, mask)).toEqual({ kind: 'common' });
  });
  test('refuses a shape vector that holds the batch', () => {
    const found = batchingOf(int64([1, 3, 8]), int64([1, 3, 8]), int64([2, 3, 8]));
    expect(found).toMatchObject({
      kind: 'mixed',
      why: expect.stringMatching(/values change with the batch/),
    });
  });
  test('refuses a tensor without a batch axis that differs between requests', () => {
    expect(batchingOf(float([1], [1]), float([1], [2]), float([1], [1]))).toMatchObject({ kind: 'mixed' });
  });
  test('refuses sizes that depend on the data, grow by another factor, or grow on two axes', () => {
    const one = float([1], [5]);
    expect(batchingOf(one, float([2], [5, 6]), float([3], [5, 5, 6]))).toMatchObject({
      why: expect.stringMatching(/depends on the data/),
    });
    expect(batchingOf(one, one, float([3], [5, 5, 5]))).toMatchObject({
      why: expect.stringMatching(/and 3 at/),
    });
    const square = float([1, 1], [1]);
    expect(batchingOf(square, square, float([2, 2], [1, 1, 1, 1]))).toMatchObject({
      why: expect.stringMatching(/no single axis/),
    });
  });
});

describe('confirmedBatching()', () => {
  const [first, second] = [float([1, 2], [1, 2]), float([1, 2], [3, 4])];
  const seen = (both: TensorData) => ({ first, second, both });
  const stackedOn0 = { kind: 'stacked', axis: 0 } as const;

  test('accepts rows within a tolerance beyond rounding, and reports the difference of others', () => {
    const both = float([2, 2], [1, 2, 3, 4.04]);
    const confirmed = (tolerance?: number) =>
      confirmedBatching(stackedOn0, seen(both), { whole: both, ...(tolerance ? { tolerance } : {}) });
    expect(confirmed(0.011)).toEqual(stackedOn0);
    expect(confirmed(0.009)).toMatchObject({ kind: 'mixed', difference: expect.closeTo(0.01, 6) });
    expect(confirmed()).toMatchObject({ kind: 'mixed', difference: expect.closeTo(0.01, 6) });
  });
  test('reports the larger difference of the two requests', () => {
    const [one, two, both] = [float([1], [1]), float([1], [2]), float([1], [1.5])];
    expect(confirmedBatching({ kind: 'common' }, { first: one, second: two, both }, { whole: both })).toEqual(
      { kind: 'mixed', why: expect.any(String), difference: 0.5 },
    );
  });
  test('reports no difference of what follows the size of the batch alone', () => {
    const [one, two] = [float([2], [1, 8]), float([2], [2, 8])];
    const found = confirmedBatching(
      { kind: 'common' },
      { first: one, second: one, both: two },
      { whole: two },
    );
    expect(found).toEqual({ kind: 'mixed', why: expect.any(String) });
    const places = (data: number[]) => int64(data);
    const range = { first: places([0]), second: places([0]), both: places([0, 1]) };
    expect(confirmedBatching(stackedOn0, range, { whole: range.both })).not.toHaveProperty('difference');
  });
});

describe('differenceOf()', () => {
  test('is relative to the largest finite magnitude of the first', () => {
    expect(differenceOf(float([2], [4, -8]), float([2], [5, -8]))).toBe(0.125);
    const infinite = float([2], [Number.POSITIVE_INFINITY, 4]);
    expect(differenceOf(infinite, float([2], [Number.POSITIVE_INFINITY, 5]))).toBe(0.25);
    expect(differenceOf(float([1], [0]), float([1], [0]))).toBe(0);
  });
  test('is infinite where no number tells it', () => {
    expect(differenceOf(float([1], [0]), float([1], [1]))).toBe(Number.POSITIVE_INFINITY);
    expect(differenceOf(float([1], [Number.NaN]), float([1], [1]))).toBe(Number.POSITIVE_INFINITY);
    expect(differenceOf(float([1], [1]), float([2], [1, 1]))).toBe(Number.POSITIVE_INFINITY);
    expect(differenceOf(int64([1]), int64([2]))).toBe(Number.POSITIVE_INFINITY);
    expect(differenceOf(int64([1]), int64([1]))).toBe(0);
  });
});

describe('agree()', () => {
  test('accepts rounding relative to the largest value, and no more', () => {
    expect(agree(float([2], [1000, 1]), float([2], [1000, 1.9]))).toBe(true);
    expect(agree(float([2], [1000, 1]), float([2], [1000, 2.1]))).toBe(false);
    expect(agree(float([2], [Number.NaN, 1]), float([2], [Number.NaN, 1]))).toBe(true);
    expect(agree(float([2], [Number.NaN, 1]), float([2], [1, 1]))).toBe(false);
  });
  test('compares float16 by value: it accepts a few roundings and no more', () => {
    const ulp = 2 ** -10;
    expect(agree(half([2], [1, 0.25]), half([2], [1 + ulp, 0.25 - ulp]))).toBe(true);
    expect(agree(half([2], [1, 0.25]), half([2], [1, 0.25 + 4 * ulp]))).toBe(true);
    expect(agree(half([2], [1, 0.25]), half([2], [1, 0.25 + 5 * ulp]))).toBe(false);
    // A different sign is a different value. The two zeros are one value, though their bits are far apart.
    expect(agree(half([2], [1, -1]), half([2], [1, 1]))).toBe(false);
    expect(agree(half([1], [0]), half([1], [-0]))).toBe(true);
    const infinite = half([2], [Number.POSITIVE_INFINITY, 1]);
    expect(agree(infinite, infinite)).toBe(true);
    expect(agree(infinite, half([2], [65504, 1]))).toBe(false);
    expect(agree(half([1], [Number.NaN]), half([1], [Number.NaN]))).toBe(true);
  });
  test('requires integers and texts to be equal', () => {
    expect(agree(int64([1, 2]), int64([1, 2]))).toBe(true);
    expect(agree(int64([1, 2]), int64([1, 3]))).toBe(false);
    const text = (data: string[]): TensorData => ({ dtype: 'string', dims: [data.length], data });
    expect(agree(text(['a', 'b']), text(['a', 'b']))).toBe(true);
    expect(agree(text(['a', 'b']), text(['a', 'c']))).toBe(false);
  });
});
