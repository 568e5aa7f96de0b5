import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../../src/random/index.js';
import { RecentValues } from '../../../../src/serving/stage-local/pard-state/recent-values.js';
import { inWholeRun, seeds } from '../../../cases.js';

describe('RecentValues', () => {
  it('weighs values less the older their bucket is, and those older than the window not at all', () => {
    const recent = new RecentValues(1, 50);
    recent.add(0, 0, 10);
    recent.add(25, 0, 40);
    // The weights are 25/50 and 50/50.
    expect(recent.mean(25, 0)).toBeCloseTo((10 * 25 + 40 * 50) / 75, 12);
    expect(recent.mean(49, 0)).toBeCloseTo((10 * 1 + 40 * 26) / 27, 12);
    expect(recent.mean(50, 0)).toBe(40);
    expect(recent.most(49, 0)).toBe(40);
    expect(recent.mean(74, 0)).toBe(40);
    expect(recent.mean(75, 0)).toBe(0);
    expect(recent.most(75, 0)).toBe(0);
  });

  inWholeRun('agrees with all values that it ever got, weighed one by one', () => {
    for (const seed of seeds(20, 300)) {
      const stream = streamOf(seed, 'recent');
      const widthNs = 1 + stream.integer(1000);
      const recent = new RecentValues(2, 50 * widthNs);
      const told: { at: number; pool: number; value: number }[] = [];
      let at = 0;
      for (let i = 0; i < 300; i++) {
        at += Math.floor(widthNs * 4 * stream.exponential() * (stream.uniform() < 0.02 ? 30 : 1));
        const one = { at, pool: stream.integer(2), value: stream.integer(1000) };
        told.push(one);
        recent.add(one.at, one.pool, one.value);
        const pool = stream.integer(2);
        const later = at + stream.integer(60) * widthNs * (stream.uniform() < 0.2 ? 1 : 0);
        const weighed = told.flatMap((other) => {
          const age = Math.floor(later / widthNs) - Math.floor(other.at / widthNs);
          return other.pool === pool && age < 50 ? [{ value: other.value, weight: 50 - age }] : [];
        });
        const weight = weighed.reduce((sum, each) => sum + each.weight, 0);
        const mean = weighed.reduce((sum, each) => sum + each.value * each.weight, 0) / weight;
        expect(recent.mean(later, pool)).toBeCloseTo(weight === 0 ? 0 : mean, 6);
        expect(recent.most(later, pool)).toBe(Math.max(0, ...weighed.map(({ value }) => value)));
      }
    }
  });
});
