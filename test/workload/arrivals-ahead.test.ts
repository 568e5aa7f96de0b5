import { describe, expect, it } from 'vitest';
import { arrivalsAhead, arrivalsAt, mergedArrivals } from '../../src/workload/index.js';

const all = (arrivals: { next(): boolean; atNs: number; model: number }): number[][] => {
  const told: number[][] = [];
  while (arrivals.next()) told.push([arrivals.atNs, arrivals.model]);
  return told;
};

describe('arrivalsAhead()', () => {
  it.each([0, 1, 511, 512, 513, 1500])('gives the same %d arrivals, and then none', (count) => {
    const times = Array.from({ length: count }, (_, i) => 3 * i);
    const source = () =>
      mergedArrivals([arrivalsAt(times.filter((at) => at % 2 === 0)), arrivalsAt(times, 1)]);
    const ahead = arrivalsAhead(source());
    expect(all(ahead)).toEqual(all(source()));
    expect(ahead.next()).toBe(false);
  });
});
