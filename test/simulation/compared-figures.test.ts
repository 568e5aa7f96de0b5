import { describe, expect, it } from 'vitest';
import { rowFigures } from '../../src/simulation/compared-figures.js';
import type { ComparedRun } from '../../src/simulation/compared-run.js';

const run = (more: Partial<ComparedRun> = {}): ComparedRun => ({
  complete: true,
  arrived: 100,
  figures: { goodputRps: 9, attainment: 0.9, dropRate: 0.1, invalidRate: 0.05, meanMs: 20, p99Ms: 40 },
  dropped: [0, 4, 6],
  worst: [{ seconds: 1, leastGoodputRps: 5, leastAttainment: 0.5, largestDropRate: 0.5 }, { seconds: 10 }],
  ...more,
});
const quiet = run({
  arrived: 0,
  figures: { goodputRps: 0 },
  dropped: [0, 0, 0],
  worst: [{ seconds: 1 }, { seconds: 10 }],
});
const same = (value: number) => ({ mean: value, low: value, high: value });
const PLACES = ['entry', 'detect', 'read'];

/** The half of a 95 % interval of the mean of two values: t of one degree of freedom times half of their distance. */
const halfOf = (a: number, b: number) => (12.706204736 * Math.abs(a - b)) / 2;

describe('rowFigures()', () => {
  it('gives the figures of one run as they are', () => {
    const windows = [{ fromS: 0, offeredRps: 10, goodputRps: 9, attainment: 0.9 }];
    expect(rowFigures([run({ windows })], PLACES)).toEqual({
      goodputRps: same(9),
      attainment: same(0.9),
      dropRate: same(0.1),
      invalidRate: same(0.05),
      meanMs: same(20),
      p99Ms: same(40),
      worstWindows: [
        { seconds: 1, leastGoodputRps: same(5), leastAttainment: same(0.5), largestDropRate: same(0.5) },
        { seconds: 10 },
      ],
      dropsByStage: { entry: same(0), detect: same(0.04), read: same(0.06) },
      windows: [{ fromS: 0, offeredRps: same(10), goodputRps: same(9), attainment: same(0.9) }],
    });
  });

  it('gives means with intervals of several runs, within what each figure can be', () => {
    const other = run({
      figures: { goodputRps: 9.2, attainment: 0.9, dropRate: 0.1, invalidRate: 0.95, meanMs: 30, p99Ms: 40 },
      dropped: [0, 6, 4],
    });
    const row = rowFigures([run(), other], PLACES);
    expect(row.goodputRps.mean).toBeCloseTo(9.1, 12);
    expect(row.goodputRps.low).toBeCloseTo(9.1 - halfOf(9, 9.2), 6);
    expect(row.goodputRps.high).toBeCloseTo(9.1 + halfOf(9, 9.2), 6);
    expect(row.meanMs?.low).toBe(0);
    expect(row.meanMs?.high).toBeCloseTo(25 + halfOf(20, 30), 5);
    expect(row.invalidRate).toEqual({ mean: 0.5, low: 0, high: 1 });
    expect(row.attainment).toEqual(same(0.9));
    expect(row.dropsByStage?.detect?.mean).toBeCloseTo(0.05, 12);
    expect(row.dropsByStage?.detect?.low).toBe(0);
  });

  it('leaves room for a drop where several runs had none, as the attainment does', () => {
    const faultless = run({
      figures: { goodputRps: 10, attainment: 1, dropRate: 0 },
      dropped: [0, 0, 0],
    });
    const { attainment, dropRate, dropsByStage } = rowFigures([faultless, faultless], PLACES);
    expect(attainment?.low).toBeCloseTo(0.025 ** (1 / 200), 12);
    expect(dropRate).toEqual({ mean: 0, low: 0, high: 1 - (attainment?.low as number) });
    expect(dropsByStage?.read).toEqual(dropRate);
  });

  it('leaves out every figure that a run lacks, and writes no other number for it', () => {
    for (const runs of [[quiet], [quiet, quiet], [run(), quiet]]) {
      const { goodputRps, worstWindows, ...others } = rowFigures(runs, PLACES);
      expect(others).toEqual({});
      expect(worstWindows).toEqual([{ seconds: 1 }, { seconds: 10 }]);
      expect(Object.values(goodputRps).every(Number.isFinite)).toBe(true);
    }
  });

  it('counts a stage with the name of the entry together with it', () => {
    expect(rowFigures([run({ dropped: [1, 4, 6] })], ['entry', 'entry', 'read']).dropsByStage).toEqual({
      entry: same(0.05),
      read: same(0.06),
    });
  });
});
