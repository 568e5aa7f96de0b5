import { beforeAll, describe, expect, it } from 'vitest';
import { randomProblem, type Shape } from '../../bench/refute/pooled/random-problem.js';
import { checkPlan } from '../../src/checks/index.js';
import { variantsOf } from '../../src/hold/moves.js';
import { asAsked } from '../../src/hold/settings.js';
import { type HighsEngine, loadHighs } from '../../src/lp/index.js';
import type { PlanBody } from '../../src/milp/index.js';
import { boundPooled, planPooled, regrouped } from '../../src/milp/index.js';
import { inWholeRun } from '../cases.js';

const SHAPE: Shape = { classes: 2, blocks: 4, batches: 3, virtual: [1, 2], models: 2, mostGpus: 12 };

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/** A plan of one model: pipeline 0 has pools of 4 and 2 GPUs of A, pipeline 1 one of 3 GPUs of B, in halves. */
function planByHand(idle = 0): PlanBody {
  const pool = (device: string, virtual: number, virtualGpus: number, rps: number) => ({
    device,
    virtual,
    virtualGpus,
    throughputRps: rps * virtualGpus,
  });
  const pipelines = [
    { partitions: [pool('A', 1, 4, 10), pool('A', 1, 2, 20)] },
    { partitions: [pool('B', 2, 6, 5)] },
  ];
  const classes = { A: { used: 6, count: 6 }, B: { used: 3, count: 3 + idle } };
  return { models: [{ pipelines }], classes } as unknown as PlanBody;
}

const sorted = (lists: readonly unknown[]) => lists.map((one) => JSON.stringify(one)).sort();

describe('variantsOf()', () => {
  it('moves one GPU or all of a pool to another pool of its class, and gives an idle one away', () => {
    const single = variantsOf(planByHand(), 'single');
    expect(sorted(single.map(({ counts, plannedRps, moved }) => [counts[0], plannedRps, moved]))).toEqual(
      sorted([
        [[[3, 3], [6]], [30 + 30], 1],
        [[[0, 6], [6]], [0 + 30], 4],
        [[[5, 1], [6]], [20 + 30], 1],
        [[[6, 0], [6]], [0 + 30], 2],
      ]),
    );
    const more = variantsOf(planByHand(1), 'single');
    expect(more.length).toBe(5);
    expect(more.some(({ counts }) => counts[0]?.[1]?.[0] === 8)).toBe(true);
  });

  it('makes two moves at once, and no plan twice', () => {
    const double = variantsOf(planByHand(1), 'double');
    const all = double.map(({ counts }) => JSON.stringify(counts));
    expect(new Set(all).size).toBe(all.length);
    expect(double.map(({ counts }) => JSON.stringify(counts[0]))).toContain('[[3,3],[8]]');
    // Moving a GPU there and another one back is no move.
    expect(all).not.toContain('[[[4,2],[6]]]');
    const many = planByHand();
    const [first] = many.models[0]!.pipelines;
    const pools = Array.from({ length: 7 }, () => first!.partitions[0]!);
    const split = pools.map((pool) => ({ ...pool, virtualGpus: 2 }));
    const pipelines = [{ ...first!, partitions: split }];
    // Seven pools of two GPUs have 84 single moves, of which there are too many pairs.
    const large = { ...many, models: [{ ...many.models[0]!, pipelines }] };
    expect([variantsOf(large, 'single').length, variantsOf(large, 'double')]).toEqual([84, []]);
  });

  it('takes no whole pool of which a GPU is shared', () => {
    const plan = planByHand();
    const pools = plan.models[0]?.pipelines[0]?.partitions as { virtual: number; virtualGpus: number }[];
    Object.assign(pools[0]!, { virtual: 2, virtualGpus: 5 });
    const counts = variantsOf(plan, 'single').map((variant) => variant.counts[0]?.[0]);
    // Of two GPUs and a half, one goes to the other pool at a time.
    expect(counts.filter((own) => (own?.[0] as number) < 5)).toEqual([[3, 3]]);
    pools[0]!.virtualGpus = 1;
    expect(variantsOf(plan, 'single').every((one) => (one.counts[0]?.[0]?.[0] as number) >= 1)).toBe(true);
  });

  it('takes a fiftieth of a large pool', () => {
    const plan = planByHand();
    const large = plan.models[0]?.pipelines[0]?.partitions[0] as { virtualGpus: number };
    large.virtualGpus = 210;
    expect(variantsOf(plan, 'single').map(({ counts }) => counts[0]?.[0])).toContainEqual([206, 6]);
  });

  inWholeRun('gives plans that pass the check, with the rates and GPUs that it says', () => {
    let variants = 0;
    let dissolved = 0;
    for (const wholeGpusPer of ['pool', 'position', 'class'] as const)
      for (let seed = 1; seed <= 8; seed++) {
        const problem = randomProblem(seed, SHAPE, { sloMargin: 0.1, wholeGpusPer });
        const outcome = planPooled(problem, { highs });
        if (!('plan' in outcome)) continue;
        const bound = boundPooled(problem, { highs }) as number;
        const double = variantsOf(outcome.plan, 'double').slice(0, 30);
        for (const { counts, plannedRps } of [...variantsOf(outcome.plan, 'single'), ...double]) {
          const plan = regrouped(outcome.plan, counts, problem);
          // A plan that leaves a model without GPUs has the value 0, whose gap is infinite.
          if (plan === undefined || plannedRps.includes(0)) continue;
          variants += 1;
          expect(checkPlan(asAsked(plan, problem, bound), problem)).toEqual([]);
          plan.models.forEach(({ throughputRps, pipelines }, m) => {
            expect(throughputRps).toBeCloseTo(plannedRps[m] as number, 6);
            const before = outcome.plan.models[m]?.pipelines.length as number;
            if (pipelines.length < before) dissolved += 1;
          });
        }
      }
    expect(variants).toBeGreaterThan(100);
    expect(dissolved).toBeGreaterThan(10);
  });
});
