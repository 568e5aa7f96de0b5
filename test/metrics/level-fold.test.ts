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
      asHeaviest: 3.3,
    });
  });

  it('weighs requests by their level times their model, and counts them by level alone', () => {
    const fold = new LevelFold({
      weights: [10, 1],
      modelWeights: [1, 3],
      warmUpNs: 0,
      levelOf: (order) => Math.floor(order / 2) % 2,
    });
    const outcomes = [IN_TIME, DROPPED, LATE, IN_TIME];
    outcomes.forEach((outcome, i) => {
      fold.arrived(10, i % 2, i);
      fold.ended(20, i % 2, i, 10, outcome);
    });
    const counts = { arrived: 2, inTime: 1, failed: 0, goodputRps: 1, attainment: 0.5 };
    expect(fold.figures(1e9)).toEqual({
      levels: [
        { ...counts, late: 0, dropped: 1 },
        { ...counts, late: 1, dropped: 0 },
      ],
      // In time are one of 10 and one of 3; lost are one of 30 and one of 1.
      weightedDropRate: 1 - 13 / 44,
      asHeaviest: 44 / 30,
    });
  });

  it('says nothing of shares where nothing came', () => {
    const fold = new LevelFold({ weights: [1], levelOf: () => 0, warmUpNs: 0 });
    expect(fold.figures(1e9)).toEqual({
      levels: [{ arrived: 0, inTime: 0, late: 0, dropped: 0, failed: 0, goodputRps: 0 }],
      asHeaviest: 0,
    });
  });
});
