import { expect, test } from 'vitest';
import { classFigures } from '../../src/pipeline/index.js';
import { profileOf } from './example.js';

test('classFigures() names every measured batch that a latency of the plan is of', () => {
  const profile = profileOf('m', [], []);
  const batches = (batch: number, virtual = 1) =>
    classFigures(profile, { device: 'L4', virtual, batch }).cells.map((cell) => cell.batch);
  // Batches 1 and 4 were measured; the last of 2 or 3 has the latency of 4.
  expect([1, 2, 3, 4].map((batch) => batches(batch))).toEqual([[1], [1, 4], [1, 4], [1, 4]]);
  expect(batches(5)).toEqual([1, 4]);
  expect(classFigures(profile, { device: 'T4', virtual: 2, batch: 1 })).toEqual({
    className: 'T4',
    cells: [{ virtual: 2, batch: 1 }],
  });
});
