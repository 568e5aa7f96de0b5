import { describe, expect, it } from 'vitest';
import { LevelFold } from '../../src/metrics/index.js';

const [IN_TIME, LATE, DROPPED, FAILED] = [0, 1, 2, 3];

describe('LevelFold', () => {
  it('counts outcomes by level and weighs what is lost, without what came before the time that counts', () => {
    const fold = new LevelFold({ weights: [10, 1], levelOf: (order) => order % 2, warmUpNs: 100 });
    // Numbers of requests are used again: a request's level is that of its arrival.
    const outcomes = [IN_TIME, IN_TIME, IN_TIME, DROPPED, LATE, IN_TIME, IN_TIME, FAILED];
    outcomes.forEach((outcome, i) => {
      const arrivedNs = i < 2 ? 50 : 100;
      fold.arrived(arrivedNs, 0, i % 3);
      fold.ended(200, 0, i % 3, arrivedNs, outcome);
    });
    expect(fold.figures(2e9)).toEqual({
      levels: [
        { arrived: 3, inTime: 2, late: 1, dropped: 0, failed: 0, goodputRps: 1, attainment: 2 / 3 },
        { arrived: 3, inTime: 1, late: 0, dropped: 1, failed: 1, goodputRps: 0.5, attainment: 1 / 3 },
      ],
      weightedDropRate: 1 - 21 / 33,
    });
  });

  it('says nothing of shares where nothing came', () => {
    const fold = new LevelFold({ weights: [1], levelOf: () => 0, warmUpNs: 0 });
    expect(fold.figures(1e9)).toEqual({
      levels: [{ arrived: 0, inTime: 0, late: 0, dropped: 0, failed: 0, goodputRps: 0 }],
    });
  });
});
