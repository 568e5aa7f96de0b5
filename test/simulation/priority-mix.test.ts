import { describe, expect, it } from 'vitest';
import { priorityMix } from '../../src/simulation/priority-mix.js';

describe('priorityMix()', () => {
  it('gives each priority its share and the weight of the plan, 1 where the plan has none', () => {
    expect(priorityMix('1=0.1, 2=.3,0=0.6', { 1: 10, 3: 5 })).toEqual({
      mix: [
        { priority: 1, share: 0.1, weight: 10 },
        { priority: 2, share: 0.3, weight: 1 },
        { priority: 0, share: 0.6, weight: 1 },
      ],
    });
  });

  it('reports what is wrong with shares', () => {
    expect(priorityMix('1=2', undefined)).toMatchObject({ faults: [{ option: 'priorities' }] });
  });
});
