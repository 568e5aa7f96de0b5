import { beforeAll, describe, expect, test } from 'vitest';
import { type HighsEngine, loadHighs } from '../../../src/lp/index.js';
import {
  explainInfeasible,
  type PlanOptions,
  type PooledProblem,
  planPooled,
} from '../../../src/milp/index.js';
import { ON_A, problemByHand } from '../by-hand.js';

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

function explained(problem: PooledProblem, options: Partial<PlanOptions> = {}) {
  const outcome = planPooled(problem, { highs });
  if (outcome.status !== 'infeasible') throw new Error(outcome.status);
  return { outcome, ...explainInfeasible(problem, outcome, { highs, ...options }) };
}

function dearProblem(sloMs: number, rps: number): PooledProblem {
  const models = [{ name: 'm', sloMs, rps, latencyUs: ON_A }];
  return problemByHand({ A: { count: 2, hourlyCost: 1 } }, models, { maxPartitions: 1, objective: 'cost' });
}

describe('explainInfeasible()', () => {
  test('finds the smallest SLO that a pipeline meets, where there are enough GPUs', () => {
    const phases: string[] = [];
    const found = explained(dearProblem(1, 500), { onProgress: ({ phase }) => phases.push(phase) });
    expect(phases).toEqual(['looking for SLOs that have a plan']);
    expect(found.complete).toBe(true);
    expect(found.reasons).toBe(found.outcome.reasons);
    expect(found.models).toEqual([
      {
        name: 'm',
        sloMs: 1,
        smallestFeasibleSloMs: expect.closeTo(1 / 0.9, 9),
        feasibleSloMs: expect.closeTo(1 / 0.9, 6),
      },
    ]);
  });

  test('raises an SLO further where larger batches are needed to meet the rate', () => {
    // Two GPUs serve 2000 requests per second in batches of one, and 2667 in batches of two, which need an SLO of
    // 1.5/0.9 ms.
    const { models } = explained(dearProblem(1.5, 2200));
    expect(models[0]?.smallestFeasibleSloMs).toBeCloseTo(1 / 0.9, 9);
    expect(models[0]?.feasibleSloMs).toBeGreaterThanOrEqual(1.5 / 0.9);
    expect(models[0]?.feasibleSloMs).toBeLessThanOrEqual(1.5 / 0.9 + 0.005 * 1.5);
  });

  test('finds no SLO where no batch size serves enough', () => {
    const { complete, models } = explained(dearProblem(1.5, 3000));
    expect(complete).toBe(true);
    expect(models[0]).toMatchObject({ sloMs: 1.5, feasibleSloMs: undefined });
  });

  test('finds no SLO where the weights fit on no device', () => {
    const model = { name: 'm', sloMs: 1, latencyUs: ON_A, weightBytes: [2 ** 40] };
    const problem = problemByHand({ A: { count: 2, memoryGiB: 8 } }, [model], { maxPartitions: 1 });
    const { complete, models, reasons } = explained(problem);
    expect(complete).toBe(true);
    expect(reasons).toEqual(['m fits on no device: its weights exceed their memory']);
    expect(models[0]).toMatchObject({ smallestFeasibleSloMs: undefined, feasibleSloMs: undefined });
  });

  test('leaves alone the SLOs of models that are not too tight', () => {
    const models = [
      { name: 'tight', sloMs: 1, latencyUs: ON_A },
      { name: 'loose', sloMs: 9, latencyUs: ON_A },
    ];
    const found = explained(problemByHand({ A: { count: 2 } }, models, { maxPartitions: 1 })).models;
    expect(found[0]?.feasibleSloMs).toBeCloseTo(1 / 0.9, 6);
    expect(found[1]).toMatchObject({ name: 'loose', sloMs: 9, feasibleSloMs: 9 });
    expect(found[1]?.smallestFeasibleSloMs).toBeCloseTo(1 / 0.9, 9);
  });

  test('reports that it is incomplete when it is interrupted', () => {
    const { complete, models } = explained(dearProblem(1.5, 2200), { interrupted: () => true });
    expect(complete).toBe(false);
    expect(models[0]?.feasibleSloMs).toBeUndefined();
  });
});
