import { beforeAll, describe, expect, it } from 'vitest';
import { randomProblem, type Shape } from '../../../bench/refute/pooled/random-problem.js';
import { type HighsEngine, loadHighs } from '../../../src/lp/index.js';
import { type PlanBody, planPooled, regrouped, type VirtualGpuCounts } from '../../../src/milp/index.js';

const SHAPE: Shape = { classes: 2, blocks: 4, batches: 3, virtual: [1, 2], models: 2, mostGpus: 12 };

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

const countsOf = ({ models }: PlanBody): VirtualGpuCounts =>
  models.map(({ pipelines }) => pipelines.map(({ partitions }) => partitions.map((p) => p.virtualGpus)));

function planned(seed: number) {
  const problem = randomProblem(seed, SHAPE, { sloMargin: 0.1 });
  const outcome = planPooled(problem, { highs });
  return 'plan' in outcome ? { problem, plan: outcome.plan } : undefined;
}

const PLANS = Array.from({ length: 12 }, (_, i) => i + 1);

describe('regrouped()', () => {
  it('leaves a plan as it is where no number changes', () => {
    let plans = 0;
    for (const seed of PLANS) {
      const { problem, plan } = planned(seed) ?? {};
      if (problem === undefined || plan === undefined) continue;
      plans += 1;
      const same = regrouped(plan, countsOf(plan), problem);
      expect(same?.placement).toEqual(plan.placement);
      expect(same?.classes).toEqual(plan.classes);
      same?.models.forEach(({ throughputRps }, m) => {
        expect(throughputRps).toBeCloseTo(plan.models[m]?.throughputRps as number, 9);
      });
    }
    expect(plans).toBeGreaterThan(8);
  });

  it('leaves out pipelines with an empty pool, and counts the GPUs anew', () => {
    let left = 0;
    for (const seed of PLANS) {
      const { problem, plan } = planned(seed) ?? {};
      if (problem === undefined || plan === undefined) continue;
      const counts = countsOf(plan).map((pipelines) =>
        pipelines.map((row, p) => row.map((n, d) => (p === 0 && d === 0 ? 0 : n))),
      );
      const less = regrouped(plan, counts, problem) as PlanBody;
      less.models.forEach(({ pipelines, throughputRps }, m) => {
        const before = plan.models[m]?.pipelines ?? [];
        expect(pipelines.length).toBe(before.length - 1);
        expect(throughputRps).toBeCloseTo(
          before.slice(1).reduce((sum, one) => sum + one.throughputRps, 0),
          6,
        );
      });
      const gpus = less.placement.map(({ server, gpu }) => `${server}/${gpu}`);
      const used = Object.values(less.classes).reduce((sum, one) => sum + one.used, 0);
      expect(used).toBe(new Set(gpus).size);
      left += used;
    }
    expect(left).toBeGreaterThan(0);
  });

  it('sorts pipelines by their new throughput', () => {
    let swapped = 0;
    for (const seed of PLANS) {
      const { problem, plan } = planned(seed) ?? {};
      if (problem === undefined || plan === undefined) continue;
      const counts = countsOf(plan).map((pipelines) =>
        pipelines.map((row, p) => row.map((n) => (p === 0 ? Math.min(n, 1) : n))),
      );
      const { models = [] } = regrouped(plan, counts, problem) ?? {};
      models.forEach(({ pipelines }, m) => {
        const rates = pipelines.map(({ throughputRps }) => throughputRps);
        expect(rates).toEqual([...rates].sort((a, b) => b - a));
        const first = plan.models[m]?.pipelines[0];
        if (pipelines[0]?.latencyUs !== first?.latencyUs) swapped += 1;
      });
    }
    expect(swapped).toBeGreaterThan(1);
  });

  it('is undefined where the cluster has too few GPUs', () => {
    const { problem, plan } = planned(1) as NonNullable<ReturnType<typeof planned>>;
    const counts = countsOf(plan).map((pipelines) => pipelines.map((row) => row.map((n) => n + 100)));
    expect(regrouped(plan, counts, problem)).toBeUndefined();
  });
});
