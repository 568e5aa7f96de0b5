import { describe, expect, it } from 'vitest';
import { Gears } from '../../../../src/serving/stage-local/scaling/gears.js';
import type { GearTable } from '../../../../src/serving/topology.js';

const MS = 1e6;
/** Gears up to 50, 100 and 200 requests/s; arrivals are counted over 100 ms, so up to 5, 10 and 20 of them. */
const TABLE: GearTable = {
  intervalNs: 100 * MS,
  alpha: 8,
  gears: [50, 100, 200].map((toRps, i) => ({
    toRps,
    timeoutNs: i * MS,
    steps: [{ pool: i, below: Number.NEGATIVE_INFINITY, minQueue: i + 2 }],
  })),
};

function gears(table: Partial<GearTable> = {}, waiting: (pool: number) => number = () => 0) {
  return new Gears({ ...TABLE, ...table }, 4, waiting);
}

/** come lets so many requests come at a time. */
function come(to: Gears, atMs: number, count: number): number {
  for (let i = 0; i < count; i++) {
    to.passed(atMs * MS);
    to.arrived(1);
  }
  return to.current;
}

describe('Gears', () => {
  it('begin with that of the lowest loads', () => {
    const now = gears();
    expect([now.current, now.entry, now.timeoutNs, now.nextAt]).toEqual([0, 0, 0, Number.POSITIVE_INFINITY]);
    expect([0, 1, 2].map((pool) => now.minQueue(pool))).toEqual([2, 1, 1]);
  });

  it('go up as soon as an interval has more arrivals than the gear is for, to the gear for that rate', () => {
    const now = gears();
    expect(come(now, 1, 5)).toBe(0);
    expect(come(now, 2, 1)).toBe(1);
    expect(come(now, 3, 4)).toBe(1);
    expect(come(now, 4, 1)).toBe(2);
    expect(come(now, 5, 90)).toBe(2);
    expect([now.entry, now.timeoutNs, now.minQueue(2), now.minQueue(0)]).toEqual([2, 2 * MS, 4, 1]);
  });

  it('count the rows of a request, and arrivals at the end of an interval as those of the next', () => {
    const now = gears();
    now.passed(0);
    now.arrived(6);
    expect(now.current).toBe(1);
    const later = gears();
    expect(come(later, 99, 5)).toBe(0);
    expect(come(later, 100, 5)).toBe(0);
    expect(come(later, 199, 1)).toBe(1);
  });

  it('go down at the end of an interval to the gear for its rate, and not before', () => {
    const now = gears();
    come(now, 1, 20);
    expect(now.nextAt).toBe(100 * MS);
    // The interval with 20 arrivals ends: the rate is that of the highest gear.
    now.passed(100 * MS);
    expect(now.current).toBe(2);
    come(now, 150, 7);
    now.passed(199 * MS);
    expect(now.current).toBe(2);
    now.passed(200 * MS);
    expect(now.current).toBe(1);
    now.passed(300 * MS);
    expect(now.current).toBe(0);
  });

  it('stay while the rate is below alpha times the queue before the first model of the gear in force', () => {
    const queues = [0, 0, 8];
    const now = gears({}, (pool) => queues[pool] as number);
    come(now, 1, 20);
    now.passed(100 * MS);
    come(now, 150, 6);
    // 60 requests/s are below 8 · 8.
    now.passed(200 * MS);
    expect(now.current).toBe(2);
    come(now, 250, 6);
    queues[2] = 7;
    now.passed(300 * MS);
    expect(now.current).toBe(1);
    queues[1] = 1;
    now.passed(400 * MS);
    expect(now.current).toBe(1);
    queues[1] = 0;
    now.passed(500 * MS);
    expect(now.current).toBe(0);
  });

  it('are the same whether quiet intervals are passed one by one or all at once', () => {
    for (const quiet of [2, 3, 10, 1000]) {
      const [slow, fast] = [gears(), gears()];
      for (const now of [slow, fast]) come(now, 1, 15);
      for (let interval = 1; interval <= quiet; interval++) slow.passed(interval * 100 * MS);
      fast.passed(quiet * 100 * MS);
      expect(fast.current).toBe(slow.current);
      expect(fast.nextAt).toBe(slow.nextAt);
      for (const now of [slow, fast]) expect(come(now, quiet * 100 + 1, 6)).toBe(1);
      expect(fast.nextAt).toBe(slow.nextAt);
    }
  });

  it('count rates for less where more came than was planned and an accuracy is promised, and never for more', () => {
    const now = gears({ plannedRps: 50 });
    // 10 arrivals in 100 ms are 100/s in the mean, twice what was planned, so that they count as 50/s.
    expect(come(now, 1, 10)).toBe(0);
    const few = gears({ plannedRps: 1000 });
    expect(come(few, 1, 5)).toBe(0);
    expect(come(few, 2, 1)).toBe(1);
  });
});
