import { describe, expect, it } from 'vitest';
import { proofFaults } from '../../src/formats/index.js';

type Objective = NonNullable<Parameters<typeof proofFaults>[0]['objective']>;

function told(status: 'optimal' | 'feasible', objective: Objective): string[] {
  return proofFaults({ status, objective }).map(({ path, message }) => `${path} ${message}`);
}

describe('proofFaults()', () => {
  it('finds nothing where the gap is the distance of value and bound, in either direction', () => {
    expect(told('feasible', { kind: 'throughput', value: 80, bound: 100, gap: 0.25 })).toEqual([]);
    // Older plans have the gap of an accuracy as a share of the bound.
    for (const gap of [0.25, 1 - 0.8])
      expect(told('feasible', { kind: 'accuracy', value: 0.8, bound: 1, gap })).toEqual([]);
    for (const kind of ['cost', 'power', 'latency', 'devices'] as const)
      expect(told('feasible', { kind, value: 5, bound: 4, gap: 0.25 })).toEqual([]);
    expect(told('optimal', { kind: 'cost', value: 5, bound: 5, gap: 0 })).toEqual([]);
    expect(told('optimal', { kind: 'cost', value: 5, bound: 5 * (1 - 5e-10), gap: 5e-10 })).toEqual([]);
    expect(proofFaults({})).toEqual([]);
  });

  it('finds a feasible plan without a gap, and an optimal one with a gap', () => {
    expect(told('feasible', { kind: 'cost', value: 5, bound: 5, gap: 0 })).toEqual([
      '/status is feasible, and the gap of 0 says that it is optimal',
    ]);
    expect(told('optimal', { kind: 'cost', value: 5, bound: 4, gap: 0.25 })).toEqual([
      '/status is optimal, and the gap is 0.25',
    ]);
    expect(told('optimal', { kind: 'cost', value: 5, bound: 0 })).toEqual([
      '/status is optimal, and the gap is not known',
    ]);
  });

  it('reports a gap that value and bound do not give at both, since either may have been edited, and finds a bound that the value beats', () => {
    expect(told('feasible', { kind: 'throughput', value: 80, bound: 100, gap: 0.2 })).toEqual([
      '/objective/bound is 100; value and gap give 96',
      '/objective/gap is 0.2; value and bound give 0.25',
    ]);
    expect(told('feasible', { kind: 'cost', value: 6, bound: 4, gap: 0.2 })).toEqual([
      '/objective/bound is 4; value and gap give 5',
      '/objective/gap is 0.2; value and bound give 0.5',
    ]);
    expect(told('feasible', { kind: 'accuracy', value: 0.8, bound: 1, gap: 0.24 })).toEqual([
      '/objective/bound is 1; value and gap give 0.992',
      '/objective/gap is 0.24; value and bound give 0.25',
    ]);
    expect(told('optimal', { kind: 'accuracy', value: 0.9, bound: 0.8, gap: 0 })).toEqual([
      '/objective/bound is 0.8, which the value 0.9 beats',
    ]);
    expect(told('optimal', { kind: 'cost', value: 4, bound: 5, gap: 0 })).toEqual([
      '/objective/bound is 5, which the value 4 beats',
    ]);
  });

  it('asks for no gap where no ratio says it', () => {
    expect(told('feasible', { kind: 'cost', value: 5, bound: 0 })).toEqual([]);
    expect(told('feasible', { kind: 'cost', value: 5, bound: 0, gap: Number.MAX_VALUE })).toEqual([]);
  });
});
