import { describe, expect, it } from 'vitest';
import { type Demand, sharedBetween } from '../../src/specs/easier.js';

function asked(sloMs: number, mix: Record<string, number>, unlimited: string[] = []): Demand {
  return { mix, unlimited, sloMs };
}

describe('sharedBetween()', () => {
  it('takes a cheaper plan from a shorter SLO, and a higher bound from a longer one', () => {
    const found = [
      { asked: asked(100, { L4: 4 }), value: 5, bound: 3 },
      { asked: asked(200, { L4: 4 }), value: 6, bound: 4 },
    ];
    expect(sharedBetween(found, 'least')).toEqual([
      { from: 0, bound: 4 },
      { from: 0, bound: 4 },
    ]);
  });

  it('takes nothing where the SLO is shorter or a class has fewer GPUs', () => {
    const found = [
      { asked: asked(200, { L4: 4, T4: 1 }), value: 5, bound: 3 },
      { asked: asked(100, { L4: 4, T4: 1 }), value: 6, bound: 5 },
      { asked: asked(200, { L4: 3, T4: 9 }), value: 6, bound: 2 },
      { asked: asked(200, { L4: 4 }), value: 7, bound: 6 },
    ];
    expect(sharedBetween(found, 'least')).toEqual([
      { from: 0, bound: 3 },
      { from: 1, bound: 5 },
      { from: 2, bound: 2 },
      { from: 3, bound: 6 },
    ]);
  });

  it('counts a class without a limit as more than any number', () => {
    const found = [
      { asked: asked(100, { L4: 4 }), value: 5, bound: 3 },
      { asked: asked(100, {}, ['L4']), value: 6, bound: 4 },
    ];
    expect(sharedBetween(found, 'least')).toEqual([
      { from: 0, bound: 4 },
      { from: 0, bound: 4 },
    ]);
  });

  it('gives a plan to a case whose search found none', () => {
    const found = [undefined, { asked: asked(200, {}) }, { asked: asked(100, {}), value: 5, bound: 3 }];
    expect(sharedBetween(found, 'least')).toEqual([
      { from: undefined, bound: 0 },
      { from: 2, bound: 0 },
      { from: 2, bound: 3 },
    ]);
  });

  it('takes a more accurate plan from a shorter SLO or a higher promised accuracy, and a lower bound from easier cases', () => {
    const found = [
      { asked: { ...asked(100, { L4: 4 }), accuracy: 0.9 }, value: 0.93, bound: 0.99 },
      { asked: { ...asked(200, { L4: 4 }), accuracy: 0.8 }, value: 0.92, bound: 0.95 },
      { asked: { ...asked(200, { L4: 4 }), accuracy: 0.95 } },
    ];
    expect(sharedBetween(found, 'most')).toEqual([
      { from: 0, bound: 0.95 },
      { from: 0, bound: 0.95 },
      { from: undefined, bound: 0.95 },
    ]);
  });

  it('knows no bound on what is best the larger it is where no easier case has one', () => {
    const found = [{ asked: asked(100, {}), value: 0.5 }, undefined];
    expect(sharedBetween(found, 'most')).toEqual([
      { from: 0, bound: Number.POSITIVE_INFINITY },
      { from: undefined, bound: Number.POSITIVE_INFINITY },
    ]);
  });
});
