import { expect, test } from 'vitest';
import { nthSmallest } from '../../src/collections/index.js';
import { streamOf } from '../../src/random/index.js';

test('the value at every place is that of the sorted values', () => {
  const stream = streamOf(3, 'values');
  for (let round = 0; round < 300; round++) {
    const count = 1 + stream.integer(40);
    // Few different values make ties.
    const below = 1 + stream.integer(12);
    const values = Float64Array.from({ length: count + 3 }, () => stream.integer(below));
    const sorted = values.slice(0, count).sort();
    for (let place = 0; place < count; place++)
      expect(nthSmallest(values.slice(), count, place)).toBe(sorted[place]);
  }
});

test('values beyond the count are left alone', () => {
  const values = Float64Array.of(5, 4, 3, -1);
  expect(nthSmallest(values, 3, 0)).toBe(3);
  expect(values[3]).toBe(-1);
});
