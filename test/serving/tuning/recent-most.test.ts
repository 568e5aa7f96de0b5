import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import { RecentMost } from '../../../src/serving/tuning/recent-most.js';

describe('RecentMost', () => {
  it('is the largest value of the time, its beginning included', () => {
    const recent = new RecentMost(10);
    expect([recent.add(0, 5), recent.add(4, 3), recent.add(10, 1), recent.add(11, 1)]).toEqual([5, 5, 5, 3]);
  });

  it('agrees with looking at all values again', () => {
    const random = streamOf(3, 'recent');
    const recent = new RecentMost(50);
    const all: { at: number; value: number }[] = [];
    for (let at = 0; at < 3000; at += random.integer(4)) {
      all.push({ at, value: random.integer(1000) });
      const kept = all.filter((one) => one.at >= at - 50).map(({ value }) => value);
      expect(recent.add(at, (all.at(-1) as { value: number }).value)).toBe(Math.max(...kept));
    }
  });
});
