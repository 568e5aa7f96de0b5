import { describe, expect, it } from 'vitest';
import { notHeldReason } from '../../../src/api/index.js';

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
