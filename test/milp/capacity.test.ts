import { beforeAll, describe, expect, test } from 'vitest';
import { randomProblem, type Shape } from '../../bench/refute/pooled/random-problem.js';
import { checkPlan } from '../../src/checks/index.js';
import { type HighsEngine, loadHighs } from '../../src/lp/index.js';
import { type PooledProblem, planPooled } from '../../src/milp/index.js';
import { cases } from '../cases.js';

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/** The problem that asks for a part of the rates that a plan serves, at the least cost. */
function askingFor(problem: PooledProblem, part: number): PooledProblem {
  const most = planPooled(problem, { highs });
  if (!('plan' in most)) throw new Error(most.status);
  const models = problem.models.map((model, m) => ({
    ...model,
    rps: part * (most.plan.models[m]?.throughputRps as number),
  }));
  return { ...problem, models, planner: { ...problem.planner, objective: 'cost' } };
}

describe('planPooled() at the least cost for the rates that the same GPUs serve at most', () => {
  test('finds a plan where only GPUs shared by the pools of a position suffice', () => {
    const shape: Shape = {
      classes: 3,
      blocks: 3,
      batches: 2,
      virtual: [1, 2, 3],
      models: 1,
      mostGpus: 12,
    };
    const shapes: Record<number, Shape> = {
      27: { ...shape, mostGpus: 60 },
      29: { ...shape, models: 3 },
      57: shape,
    };
    for (const seed of cases([57], [27, 29, 57])) {
      const rules = { wholeGpusPer: 'position' as const, maxPartitions: 2 };
      const problem = askingFor(randomProblem(seed, shapes[seed] as Shape, rules), 1);
      const outcome = planPooled(problem, { highs });
      if (!('plan' in outcome)) throw new Error(`seed ${seed}: ${outcome.status}`);
      expect({ seed, faults: checkPlan(outcome.plan, problem) }).toEqual({ seed, faults: [] });
    }
  });

  test('meets all rates on thousands of GPUs, for little more than the LP bounds', () => {
    const shape: Shape = { classes: 4, blocks: 3, batches: 2, virtual: [1, 2], models: 3, mostGpus: 1 };
    for (const seed of cases([5], [1, 2, 5, 6])) {
      const some = randomProblem(seed, shape, { maxPartitions: 2 });
      const devices = Object.fromEntries(
        Object.entries(some.cluster.devices).map(([name, device]) => [name, { ...device, count: 1000 }]),
      );
      for (const part of cases([0.95], [0.95, 1])) {
        const problem = askingFor({ ...some, cluster: { ...some.cluster, devices } }, part);
        const outcome = planPooled(problem, { highs });
        if (!('plan' in outcome)) throw new Error(`seed ${seed}: ${outcome.status}`);
        expect({ seed, part, faults: checkPlan(outcome.plan, problem) }).toEqual({ seed, part, faults: [] });
        expect(outcome.plan.objective.gap, `seed ${seed}`).toBeLessThan(0.01);
      }
    }
  });
});

describe('planPooled() by positions', () => {
  test('lists a pipeline once, with all of its GPUs', () => {
    const shape: Shape = { classes: 2, blocks: 3, batches: 2, virtual: [1, 2, 3], models: 1, mostGpus: 12 };
    for (let seed = 1; seed <= 30; seed++) {
      const outcome = planPooled(
        randomProblem(
          seed,
          { ...shape, models: 1 + (seed % 2) },
          { wholeGpusPer: 'position', maxPartitions: 2 },
        ),
        { highs },
      );
      if (!('plan' in outcome)) continue;
      for (const { pipelines } of outcome.plan.models) {
        const keys = pipelines.map(({ partitions }) =>
          JSON.stringify(
            partitions.map(({ blocks, device, virtual, batch }) => [blocks, device, virtual, batch]),
          ),
        );
        expect({ seed, listed: keys.length }).toEqual({ seed, listed: new Set(keys).size });
      }
    }
  });
});
