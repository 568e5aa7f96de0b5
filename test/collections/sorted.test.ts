import { expect, test } from 'vitest';
import { atOnce, sorted } from '../../src/collections/index.js';
import { streamOf } from '../../src/random/index.js';
import { inWholeRunOnly, whole } from '../cases.js';

const AT_ONCE = 1 << 17;

test.each([0, 1, ...inWholeRunOnly([AT_ONCE, AT_ONCE + 1]), whole(1, 5) * AT_ONCE + 17])(
  'sorted() sorts %i numbers as their own sort does',
  (count) => {
    const { uniform } = streamOf(1, `sorted/${count}`);
    const values = Float64Array.from({ length: count }, () => Math.floor(uniform() * 1e5));
    const expected = values.slice().sort();
    expect(atOnce(sorted(values))).toBe(values);
    expect(values).toEqual(expected);
  },
);

test('sorted() stops so often that no piece handles more than a few hundred thousand numbers', () => {
  const count = whole(4, 9) * AT_ONCE;
  const steps = sorted(Float64Array.from({ length: count }, (_, i) => (i * 7919) % 100_003));
  let pieces = 0;
  while (!steps.next().done) pieces += 1;
  // Each number is sorted once, and merged with its neighbours at most four times.
  expect(pieces).toBeGreaterThan(count / AT_ONCE + whole(3, 10));
});
