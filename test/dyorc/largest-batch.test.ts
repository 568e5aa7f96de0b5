import { describe, expect, it } from 'vitest';
import { type BatchTime, steadyBatch } from '../../src/dyorc/largest-batch.js';
import { streamOf } from '../../src/random/index.js';

const times = (ms: Readonly<Record<number, number>>): BatchTime[] =>
  Object.entries(ms).map(([batch, one]) => ({ batch: Number(batch), latencyUs: 1000 * one }));

describe('steadyBatch()', () => {
  it('is the batch from which no larger one has more than 1 % more rows a second', () => {
    expect(steadyBatch(times({ 1: 10 }))).toBe(1);
    expect(steadyBatch(times({ 1: 10, 2: 11, 4: 13 }))).toBe(4);
    // Four take twice as long as two, and so do eight as four.
    expect(steadyBatch(times({ 1: 10, 2: 11, 4: 22, 8: 44 }))).toBe(2);
    expect(steadyBatch(times({ 1: 10, 2: 19.81 }))).toBe(1);
    expect(steadyBatch(times({ 1: 10, 2: 19.79 }))).toBe(2);
    // A batch that falls behind does not stand in the way of a larger one.
    expect(steadyBatch(times({ 1: 10, 2: 25, 4: 20 }))).toBe(4);
    expect(steadyBatch(times({ 1: 10, 2: 25, 4: 50 }))).toBe(1);
  });

  it('is what looking at every pair of batches finds', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const stream = streamOf(seed, 'times');
      const all = [1, 2, 3, 4, 6, 8].map((batch) => ({
        batch,
        latencyUs: Math.round(1000 * (1 + batch * stream.uniform())),
      }));
      const rate = ({ batch, latencyUs }: BatchTime) => batch / latencyUs;
      const found = all.find((one) =>
        all.every((other) => other.batch <= one.batch || rate(other) <= 1.01 * rate(one)),
      );
      expect({ seed, batch: steadyBatch(all) }).toEqual({ seed, batch: found?.batch });
    }
  });
});
