import { describe, expect, it } from 'vitest';
import { isOneMargin } from '../../src/hold/settings.js';
import { type HoldTrial, leadOf } from '../../src/hold/trial.js';

const FAILS = Number.NEGATIVE_INFINITY;

/** Trials of these values, each with the share of its rates that it holds. */
const trialsOf = (...trials: [value: number, share: number][]) =>
  trials.map(([value, share]) => ({ value, heldRps: [share] }) as unknown as HoldTrial);
const lead = (...trials: [value: number, share: number][]) => {
  const all = trialsOf(...trials);
  return all.indexOf(leadOf(all, ({ heldRps }) => heldRps[0] as number) as HoldTrial);
};

describe('leadOf()', () => {
  it('is the trial of the largest value, whatever shares the plans hold', () => {
    expect(lead([-3, 1], [-2, 1], [FAILS, 0.9], [-4, 1])).toBe(1);
  });

  it('is the plan that comes closest, of plans that do not hold their rates', () => {
    expect(lead([FAILS, 0.2], [FAILS, 0.9], [FAILS, 0.5])).toBe(1);
    expect(lead([FAILS, 0.9], [FAILS, 0.9], [FAILS, 0.5])).toBe(0);
  });

  it('is nothing before any plan was tried', () => {
    expect(leadOf([], () => 1)).toBeUndefined();
  });
});

describe('isOneMargin()', () => {
  const one = { sloMargin: 0.2, batchFormation: 'none' as const, headroom: 1 };

  it('distinguishes settings of one margin from those that differ, have headroom, or leave batches out', () => {
    expect(isOneMargin([one, one])).toBe(true);
    expect(isOneMargin([one, { ...one, sloMargin: 0.3 }])).toBe(false);
    expect(isOneMargin([one, { ...one, headroom: 1.1 }])).toBe(false);
    expect(isOneMargin([{ ...one, mostBatch: 4 }, one])).toBe(false);
  });
});
