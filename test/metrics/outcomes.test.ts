import { describe, expect, it } from 'vitest';
import { noOutcomes, outcomeRates } from '../../src/metrics/index.js';

describe('noOutcomes()', () => {
  it('counts nothing for each outcome, in a new object each time', () => {
    const counts = noOutcomes();
    expect(counts).toEqual({ inTime: 0, late: 0, dropped: 0, failed: 0, cancelled: 0 });
    counts.inTime += 1;
    expect(noOutcomes().inTime).toBe(0);
    expect(outcomeRates(noOutcomes(), 1)).toEqual({
      attainment: undefined,
      dropRate: undefined,
      throughputRps: 0,
      goodputRps: 0,
    });
  });
});
