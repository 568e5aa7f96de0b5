import { expect, test } from 'vitest';
import { itemAt, lastOf, valueFor } from '../../src/collections/index.js';

test('itemAt reads the first and the last item of a list, and false and zero as items', () => {
  expect([itemAt(['a', 'b'], 0), itemAt(['a', 'b'], 1)]).toEqual(['a', 'b']);
  expect([itemAt([false], 0), itemAt(Float64Array.of(0), 0)]).toEqual([false, 0]);
});

test.each([2, -1, 0.5, Number.NaN])('itemAt refuses the place %s of a list of two', (place) => {
  expect(() => itemAt(['a', 'b'], place)).toThrow(new RangeError(`a list of 2 has no item at ${place}`));
});

test('lastOf reads the last item of a list and refuses an empty list', () => {
  expect(lastOf([3, 1, 2])).toBe(2);
  expect(() => lastOf([])).toThrow(new RangeError('a list of 0 has no item at -1'));
});

test('valueFor reads what a map holds for a key, zero too, and refuses another key', () => {
  const held = new Map([['cpu', 0]]);
  expect(valueFor(held, 'cpu')).toBe(0);
  expect(() => valueFor(held, 'gpu')).toThrow(new RangeError('a map of 1 has no value for gpu'));
});
