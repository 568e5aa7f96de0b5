import { beforeAll, describe, expect, test } from 'vitest';
import { randomProblem, type Shape } from '../../bench/refute/pooled/random-problem.js';
import { artifactText } from '../../src/artifacts/index.js';
import { checkPlan } from '../../src/checks/index.js';
import type { ArtifactTypes } from '../../src/formats/index.js';
import { type HighsEngine, loadHighs } from '../../src/lp/index.js';
import { planPooled } from '../../src/milp/index.js';
import { cases } from '../cases.js';

const SMALL: Shape = { classes: 2, blocks: 4, batches: 3, virtual: [1, 2], models: 1, mostGpus: 5 };

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

describe('planPooled()', () => {
  for (const wholeGpusPer of ['pool', 'position', 'class'] as const)
    for (const virtualPer of ['gpu', 'server'] as const)
      test(`makes plans that the checker accepts when whole GPUs are per ${wholeGpusPer} and sizes per ${virtualPer}`, () => {
        // With sizes per server, other seeds take the solver seconds.
        const quick = virtualPer === 'server' ? [2, 7] : [1, 2, 3];
        const long = virtualPer === 'server' || wholeGpusPer === 'class' ? 4 : 12;
        for (const seed of cases(
          quick,
          Array.from({ length: long }, (_, i) => i + 1),
        )) {
          const models = 1 + (seed % 2);
          const problem = randomProblem(seed, { ...SMALL, models }, { wholeGpusPer, virtualPer });
          const outcome = planPooled(problem, { highs });
          if (outcome.status !== 'optimal' && outcome.status !== 'feasible')
            throw new Error(`${seed}: ${outcome.status}`);
          expect({ seed, faults: checkPlan(outcome.plan, problem) }).toEqual({ seed, faults: [] });
          expect(outcome.plan.objective.gap).toBeGreaterThanOrEqual(0);
        }
      });

  test('gives the same bytes when it is called again', () => {
    const problem = () => randomProblem(7, { ...SMALL, models: 2 });
    const text = () => {
      const outcome = planPooled(problem(), { highs });
      if (!('plan' in outcome)) throw new Error(outcome.status);
      return artifactText<'pooled-plan'>(outcome.plan as ArtifactTypes['pooled-plan']);
    };
    expect(text()).toBe(text());
  });

  test('returns a plan and a bound that hold, at whatever point it is interrupted', () => {
    let plans = 0;
    for (const wholeGpusPer of ['position', 'class'] as const)
      for (let seed = 1; seed <= cases(1, 3); seed++) {
        const problem = randomProblem(seed, { ...SMALL, models: 2, mostGpus: 30 }, { wholeGpusPer });
        const best = planPooled(problem, { highs, gap: 0 });
        if (best.status !== 'optimal') throw new Error(`${seed}: ${best.status}`);
        for (const questions of [1, 4, 8, 16, 64]) {
          let asked = 0;
          const outcome = planPooled(problem, { highs, interrupted: () => ++asked > questions });
          if (!('plan' in outcome)) {
            expect(outcome).toMatchObject({ status: 'no-plan-in-time', limit: 'interrupted' });
            continue;
          }
          plans++;
          expect({ seed, faults: checkPlan(outcome.plan, problem) }).toEqual({ seed, faults: [] });
          const { value, bound } = outcome.plan.objective;
          expect(value).toBeLessThanOrEqual(best.plan.objective.value * (1 + 1e-9));
          expect(bound).toBeGreaterThanOrEqual(best.plan.objective.value * (1 - 1e-9));
          expect(outcome.plan.reproducible === false || asked <= questions).toBe(true);
        }
      }
    expect(plans).toBeGreaterThan(cases(3, 10));
  });

  test('finds the same least price when there are thousands of GPUs that it does not need', () => {
    for (let seed = 1; seed <= cases(4, 12); seed++) {
      const wholeGpusPer = (['pool', 'position', 'class'] as const)[seed % 3] as 'pool';
      const shape = { ...SMALL, models: 1 + (seed % 2), mostGpus: 30 };
      const some = randomProblem(seed, shape, { objective: 'cost', wholeGpusPer });
      const devices = Object.fromEntries(
        Object.entries(some.cluster.devices).map(([name, device]) => [name, { ...device, count: 5000 }]),
      );
      const [few, many] = [some, { ...some, cluster: { ...some.cluster, devices } }].map((problem) =>
        planPooled(problem, { highs, gap: 0 }),
      );
      if (few?.status !== 'optimal' || many?.status !== 'optimal')
        throw new Error(`${seed}: ${few?.status} ${many?.status}`);
      expect(many.plan.objective.value).toBeLessThanOrEqual(few.plan.objective.value * (1 + 1e-9));
      // Where the small cluster has GPUs of every class left, more of them change nothing.
      if (Object.values(few.plan.classes).every(({ used, count }) => used < count / 2))
        expect(many.plan.objective.value).toBeCloseTo(few.plan.objective.value, 9);
    }
  });

  test('reports infeasible, the reason and the smallest SLO when no pipeline is fast enough', () => {
    const good = randomProblem(3, SMALL);
    const model = good.models[0];
    if (model === undefined) throw new Error('no model');
    const tight = {
      ...good,
      models: [{ ...model, sloUs: 10, sloMarginUs: 1, spec: { ...model.spec, sloMs: 0.01 } }],
    };
    const outcome = planPooled(tight, { highs });
    if (outcome.status !== 'infeasible') throw new Error(outcome.status);
    expect(outcome.reasons.join('\n')).toMatch(/m0 has 0\.009 ms of its SLO/);
    const smallest = outcome.smallestFeasibleSloMs[0] as number;
    const at = (sloMs: number) => {
      const sloUs = sloMs * 1000;
      const models = [{ ...model, sloUs, sloMarginUs: 0.1 * sloUs, spec: { ...model.spec, sloMs } }];
      return planPooled({ ...good, models }, { highs }).status;
    };
    expect(at(smallest * 1.0001)).not.toBe('infeasible');
    expect(at(smallest * 0.9999)).toBe('infeasible');
  });

  test('meets the rates at a price when the objective is cost', () => {
    for (let seed = 1; seed <= 10; seed++) {
      const problem = randomProblem(seed, { ...SMALL, mostGpus: 40 }, { objective: 'cost' });
      const outcome = planPooled(problem, { highs });
      if (!('plan' in outcome)) continue;
      expect({ seed, faults: checkPlan(outcome.plan, problem) }).toEqual({ seed, faults: [] });
      expect(outcome.plan.models[0]?.throughputRps).toBeGreaterThanOrEqual(
        (problem.models[0]?.rps ?? 0) - 1e-6,
      );
    }
  });

  test('reports that rates are out of reach, and by how much, when the cluster is too small for them', () => {
    const problem = randomProblem(2, SMALL, { objective: 'cost' });
    const models = problem.models.map((model) => ({ ...model, rps: 1e6 }));
    const outcome = planPooled({ ...problem, models }, { highs });
    if (outcome.status !== 'infeasible') throw new Error(outcome.status);
    expect(outcome.reasons.join()).toMatch(/the rates need more than .* % of them can be served/);
  });

  test('reports too few GPUs when there are more models than whole GPUs', () => {
    for (const wholeGpusPer of ['pool', 'position'] as const) {
      const problem = randomProblem(2, { ...SMALL, models: 2 }, { wholeGpusPer });
      const devices = { ...problem.cluster.devices };
      for (const [k, name] of Object.keys(devices).entries())
        devices[name] = { ...(devices[name] as { count: number }), count: k === 0 ? 1 : 0 };
      const outcome = planPooled({ ...problem, cluster: { ...problem.cluster, devices } }, { highs });
      if (outcome.status !== 'infeasible') throw new Error(outcome.status);
      expect(outcome.reasons.join()).toMatch(/too few whole GPUs to serve all of m0, m1/);
    }
  });
});
