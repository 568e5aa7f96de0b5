import { describe, expect, it } from 'vitest';
import { notHeldReason } from '../../src/specs/index.js';
import { notHeldParts } from '../../src/specs/not-held.js';

describe('notHeldReason()', () => {
  it('never rounds a share that is too small up to all of the rates, and says which figure was judged', () => {
    const reason = notHeldReason({ trials: 3, heldShare: 0.99998, judgedBy: 'lower-end' });
    expect(reason).toContain('of 3 plans that were simulated, none holds');
    expect(reason).toContain('holds 99.99 % of them');
    expect(reason).toContain('lower end of the confidence interval');
    expect(notHeldReason({ trials: 3, heldShare: 0.57, judgedBy: 'mean' })).toContain(
      '57.00 % of them, judged by the mean',
    );
  });

  it('speaks of one plan in the singular, and names no share where there is none', () => {
    const reason = notHeldReason({ trials: 1, heldShare: 0, judgedBy: 'mean' });
    expect(reason).toContain('of 1 plan that was simulated');
    expect(reason).not.toContain('%');
  });
});

describe('notHeldParts()', () => {
  const head = { trials: 3, heldShare: 0.98, judgedBy: 'lower-end' as const };

  it('gives a reason with figures for each model that lacks, and none for one that holds its rate', () => {
    const models = [
      { name: 'a', rps: 200, heldRps: 196, attainment: 0.99 },
      { name: 'b', rps: 100, heldRps: 100, attainment: 0.9 },
      { name: 'c', rps: 50, heldRps: 49.9999, attainment: 0.999 },
    ];
    const { notHeld, reasons } = notHeldParts({ ...head, models });
    expect(notHeld).toEqual(head);
    expect(reasons).toMatchObject([
      { code: 'not-held', model: 'a', rps: 200, heldRps: 196, heldShare: 0.98, attainment: 0.99 },
      { code: 'not-held', model: 'c', rps: 50, heldRps: 49.9999 },
    ]);
    expect(reasons[0]?.text).toContain('98.00 % of the 200 requests/s that were asked for with 99 % in time');
    expect(reasons[1]?.text).toContain(
      '99.99 % of the 50 requests/s that were asked for with 99.9 % in time',
    );
  });

  it('gives one reason where no rates were asked for', () => {
    const models = [{ name: 'a', heldRps: 0, attainment: 0.99 }];
    const { reasons } = notHeldParts({ ...head, heldShare: 0, models });
    expect(reasons).toMatchObject([{ code: 'not-held', text: expect.stringContaining('of 3 plans') }]);
  });
});
