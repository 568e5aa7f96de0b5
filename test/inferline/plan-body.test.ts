import { describe, expect, it } from 'vitest';
import { costProof } from '../../src/inferline/plan-body.js';

describe('costProof()', () => {
  it('says by how much a cost exceeds its bound, and is optimal where it does not', () => {
    expect(costProof(5, 4)).toEqual({
      status: 'feasible',
      objective: { kind: 'cost', value: 5, bound: 4, gap: 0.25 },
    });
    for (const cost of [0, 4])
      expect(costProof(cost, cost)).toEqual({
        status: 'optimal',
        objective: { kind: 'cost', value: cost, bound: cost, gap: 0 },
      });
  });

  it('has no gap to a bound of 0 where the cost is another', () => {
    expect(costProof(0.6, 0)).toEqual({
      status: 'feasible',
      objective: { kind: 'cost', value: 0.6, bound: 0 },
    });
  });
});
