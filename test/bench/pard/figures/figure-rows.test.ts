import { describe, expect, it } from 'vitest';
import { figureRows, needingPeriods, worstDropRate } from '../../../../bench/pard/figures/figure-rows.js';
import type { AskedRuns, ServedRun } from '../../../../bench/pard/figures/served-runs.js';

/** seconds makes counts by second: 100 requests come in each, of which so many in time. */
function seconds(...inTime: readonly number[]) {
  return { arrivedIn: Uint32Array.from(inTime, () => 100), inTimeIn: Uint32Array.from(inTime) };
}

const tenOf = (inTime: number) => Array<number>(10).fill(inTime);

describe('needingPeriods()', () => {
  it('has the periods of which even the one that loses least loses more than a hundredth', () => {
    const one = seconds(...tenOf(98), ...tenOf(100), ...tenOf(50), ...tenOf(100));
    const other = seconds(...tenOf(60), ...tenOf(0), ...tenOf(97), ...tenOf(0));
    expect(needingPeriods([one, other])).toEqual([0, 2]);
    expect(needingPeriods([other])).toEqual([0, 1, 2, 3]);
  });
});

describe('worstDropRate()', () => {
  it('looks at windows side by side, and at none that is not whole', () => {
    const run = seconds(100, 50, 50, 100, 0);
    expect(worstDropRate(run, 1)).toBe(1);
    expect(worstDropRate(run, 2)).toBe(0.25);
    expect(worstDropRate(seconds(), 1)).toBe(0);
  });

  it('takes a window without requests for one that loses nothing', () => {
    expect(worstDropRate({ arrivedIn: new Uint32Array(3), inTimeIn: new Uint32Array(3) }, 1)).toBe(0);
  });
});

describe('figureRows()', () => {
  const asked: AskedRuns = {
    application: 'tm',
    trace: 'wiki',
    durationS: 20,
    seed: 4,
    servers: [],
    bounds: 'own-devices',
  };
  const run: ServedRun = {
    server: 'it',
    ...seconds(...tenOf(90), ...tenOf(100)),
    arrived: 2000,
    inTime: 1900,
    late: 40,
    dropped: 60,
    failed: 0,
    droppedAtEntry: 0,
    droppedAt: Uint32Array.of(45, 15),
    usedNs: 200,
    wastedNs: 10,
    bound: 1950,
    waitMs: Float64Array.of(1, 2),
    batch: Float64Array.of(3, 4),
    workers: [
      { fromNs: [0, 5e9, 1e10], count: [1, 3, 2] },
      { fromNs: [0, 30e9], count: [4, 9] },
    ],
  };

  it('gives rates of all requests, and those in the periods that need dropping', () => {
    const [row] = figureRows(asked, { stages: ['a', 'b'], bound: 2000, runs: [run] });
    expect(row).toMatchObject({ dropRate: 0.05, lateRate: 0.02, invalidRate: 0.05, goodputRps: 95 });
    expect(row?.leastDropRate).toBeCloseTo(0.025, 12);
    expect(row?.leastWithAll).toBe(0);
    expect(row?.needing).toEqual({ seconds: 10, offeredRps: 100, goodputRps: 90 });
    expect(row?.dropsAt).toEqual([0.75, 0.25]);
    expect(row?.worstDropRate[0]).toBeCloseTo(0.1, 12);
    expect(row?.workers).toEqual([2, 4]);
  });
});
