import { beforeAll, describe, expect, test } from 'vitest';
import { randomProblem, type Shape } from '../../../bench/refute/pooled/random-problem.js';
import { checkPlan } from '../../../src/checks/index.js';
import type { DeviceClass } from '../../../src/formats/index.js';
import { type HighsEngine, loadHighs } from '../../../src/lp/index.js';
import { type PooledProblem, planPooled } from '../../../src/milp/index.js';
import { searchPlan } from '../../../src/milp/integer/search.js';
import { uniformPlan } from '../../../src/milp/integer/uniform-sizes.js';
import { cases } from '../../cases.js';
import { problemByHand } from '../by-hand.js';
import { searchFor } from './search-by-hand.js';

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/** The problem with one virtual size for each class. */
function withSizes(problem: PooledProblem, sizes: readonly number[]): PooledProblem {
  const devices = Object.entries(problem.cluster.devices).map(([name, device], k): [string, DeviceClass] => [
    name,
    { ...device, virtual: [sizes[k] as number] },
  ]);
  return { ...problem, cluster: { ...problem.cluster, devices: Object.fromEntries(devices) } };
}

const SIZES = [1, 2, 3].flatMap((a) => [1, 2, 3].map((b) => [a, b]));

describe('planPooled() with one size per server', () => {
  const shape: Shape = { classes: 2, blocks: 3, batches: 2, virtual: [1, 2, 3], models: 2, mostGpus: 12 };

  test('is no worse than with any one size for each class', () => {
    for (const seed of cases([2, 3], [1, 2, 3, 4, 5, 6, 7, 8]))
      for (const wholeGpusPer of cases(['position'] as const, ['pool', 'position', 'class'] as const)) {
        const rules = { wholeGpusPer, virtualPer: 'server' as const, maxPartitions: 2 };
        const problem = randomProblem(seed, shape, rules);
        // The MILP has no work to speak of, so the plan is that of the sizes alone.
        const outcome = planPooled(problem, { highs, work: 1 });
        if (!('plan' in outcome)) throw new Error(`seed ${seed}: ${outcome.status}`);
        expect({ seed, faults: checkPlan(outcome.plan, problem) }).toEqual({ seed, faults: [] });
        for (const sizes of SIZES) {
          const one = planPooled(withSizes(problem, sizes), { highs });
          const least = 'plan' in one ? one.plan.objective.value * (1 - 1e-9) : 0;
          expect(outcome.plan.objective.value, `seed ${seed} ${sizes}`).toBeGreaterThanOrEqual(least);
        }
      }
  });
});

describe('uniformPlan()', () => {
  /** A GPU of A serves 1000 requests per second whole and 1500 in halves; B serves 600 whole and 500 in halves. */
  const latencyUs = {
    A: { 1: { 1: [1000] }, 2: { 1: [4000 / 3] } },
    B: { 1: { 1: [1e6 / 600] }, 2: { 1: [4000] } },
  };
  const devices = {
    A: { count: 2, virtual: [1, 2], hourlyCost: 2 },
    B: { count: 2, virtual: [1, 2], hourlyCost: 1 },
  };
  const search = (rps?: number) => {
    const model = { name: 'm', sloMs: 9, latencyUs, ...(rps === undefined ? {} : { rps }) };
    const objective = rps === undefined ? ('throughput' as const) : ('cost' as const);
    return searchFor(
      problemByHand(devices, [model], { maxPartitions: 1, virtualPer: 'server', objective }),
      highs,
    );
  };

  test('takes the best size of each class', () => {
    const found = uniformPlan(search(), searchPlan);
    expect(found?.value).toBeCloseTo(2 * 1500 + 2 * 600, 6);
    expect(found?.used.map(({ virtualGpus }) => virtualGpus)).toEqual([[4], [2]]);
  });

  test('takes the sizes of the least price, and none where no size meets the rates', () => {
    expect(uniformPlan(search(600), searchPlan)).toMatchObject({ value: 1 });
    expect(uniformPlan(search(2000), searchPlan)).toMatchObject({ value: 3 });
    expect(uniformPlan(search(4200), searchPlan)).toMatchObject({ value: 6 });
    expect(uniformPlan(search(4201), searchPlan)).toBeUndefined();
  });

  test('looks at no sizes once it is interrupted', () => {
    const { options, ...rest } = search();
    const solved: unknown[] = [];
    const solve = (one: typeof rest & { options: typeof options }) => {
      solved.push(one);
      return searchPlan(one);
    };
    expect(uniformPlan({ ...rest, options: { ...options, interrupted: () => true } }, solve)).toBeUndefined();
    expect(solved).toEqual([]);
  });

  test('solves only the sizes whose bound is better than the best plan so far', () => {
    const solved: unknown[] = [];
    uniformPlan(search(), (one) => {
      solved.push(one);
      return searchPlan(one);
    });
    expect(solved).toHaveLength(1);
  });
});
