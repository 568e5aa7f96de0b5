import { beforeAll, describe, expect, test } from 'vitest';
import type { PooledSpec } from '../../src/artifacts/index.js';
import {
  checkPlan,
  type HighsEngine,
  loadHighs,
  type PooledOutcome,
  type PooledProblem,
  planPooled,
} from '../../src/milp/index.js';
import { cases } from '../cases.js';
import { bruteForce } from './brute-force.js';
import { randomProblem, type Shape } from './random-problem.js';

const RULES = ['pool', 'position', 'class'] as const;

const TINY: Shape = { classes: 2, blocks: 3, batches: 2, virtual: [1, 2], models: 1, mostGpus: 2 };

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

function found(outcome: PooledOutcome): number | string {
  return 'plan' in outcome ? outcome.plan.objective.value : outcome.status;
}

function expectSame(seed: number, a: number | string, b: number | string): void {
  if (typeof a === 'string' || typeof b === 'string') expect({ seed, value: a }).toEqual({ seed, value: b });
  else expect({ seed, off: Math.abs(a / b - 1) < 1e-6, a, b }).toEqual({ seed, off: true, a, b });
}

/** Columns against the literal formulation, and both plans against the checker. */
function bothAgree(
  seed: number,
  shape: Shape,
  planner: PooledSpec['planner'],
  copies = 2,
  minShare: Record<string, number> = {},
): void {
  const random = randomProblem(seed, shape, { maxPartitions: 2, ...planner });
  const problem: PooledProblem = {
    ...random,
    models: random.models.map((model) => ({ ...model, minShare })),
  };
  const columns = planPooled(problem, { highs, gap: 0, work: 1e6 });
  const literal = planPooled(problem, { highs, gap: 0, work: 1e6, formulation: 'literal', copies });
  for (const outcome of [columns, literal])
    if ('plan' in outcome)
      expect({ seed, faults: checkPlan(outcome.plan, problem) }).toEqual({ seed, faults: [] });
  expectSame(seed, found(columns), found(literal));
}

describe('planPooled() finds the optimum of the literal A.2', () => {
  for (const [wholeGpusPer, seeds] of [
    ['pool', cases(8, 30)],
    ['position', cases(5, 20)],
    ['class', cases(3, 8)],
  ] as const)
    test(`when whole GPUs are per ${wholeGpusPer}`, () => {
      for (let seed = 1; seed <= seeds; seed++) bothAgree(seed, TINY, { wholeGpusPer });
    });

  test('when two models share the cluster', () => {
    for (let seed = 1; seed <= cases(9, 40); seed++) {
      const wholeGpusPer = RULES[seed % 3] as 'pool';
      bothAgree(seed, { ...TINY, models: 2, blocks: 2 }, { wholeGpusPer });
    }
  });

  test('when batches are free and take time to fill', () => {
    for (let seed = 1; seed <= cases(9, 40); seed++)
      bothAgree(seed, TINY, { unifiedBatch: false, batchFormation: { factor: 1.3, estimatedRps: 400 } });
  });

  test('when links do not bound rates, or there are three classes', () => {
    for (let seed = 1; seed <= cases(6, 20); seed++) {
      const wholeGpusPer = RULES[seed % 3] as 'pool';
      bothAgree(seed, { ...TINY, blocks: 2 }, { wholeGpusPer, linkThroughput: false });
      bothAgree(seed, { ...TINY, classes: 3, blocks: 2, mostGpus: 1 }, { wholeGpusPer });
    }
  });

  test('when two models share the cluster at the least cost', () => {
    for (let seed = 1; seed <= cases(6, 30); seed++) {
      const wholeGpusPer = RULES[seed % 3] as 'pool';
      bothAgree(seed, { ...TINY, models: 2, blocks: 2, mostGpus: 3 }, { objective: 'cost', wholeGpusPer });
    }
  });

  test('when a class must take part', () => {
    for (let seed = 1; seed <= cases(6, 25); seed++) bothAgree(seed, TINY, {}, 2, { C1: 0.3 });
  });

  test('when the objective is cost or power', () => {
    for (let seed = 1; seed <= cases(6, 21); seed++)
      bothAgree(
        seed,
        { ...TINY, mostGpus: 3 },
        { objective: seed % 2 === 0 ? 'cost' : 'power', wholeGpusPer: RULES[seed % 3] as 'pool' },
      );
  });
});

describe('planPooled() finds the optimum of a brute force', () => {
  for (const wholeGpusPer of ['pool', 'position', 'class'] as const)
    test(`when whole GPUs are per ${wholeGpusPer}`, () => {
      for (let seed = 1; seed <= cases(8, 60); seed++) {
        const problem = randomProblem(seed, { ...TINY, blocks: 2 }, { maxPartitions: 2, wholeGpusPer });
        const best = bruteForce(problem);
        const ours = found(planPooled(problem, { highs, gap: 0, work: 1e6 }));
        expectSame(seed, ours, best === 0 ? 'infeasible' : best);
      }
    });
});
