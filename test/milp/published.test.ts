import { existsSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Instance, readInstances, readProfile, specOf } from '../../bench/ppipe/instances.js';
import { checkPlan } from '../../src/checks/index.js';
import { type HighsEngine, loadHighs } from '../../src/lp/index.js';
import { type PooledProblem, planBaseline, planPooled, resolvePooled } from '../../src/milp/index.js';
import { cases, inWholeRun } from '../cases.js';
import { MADE_INSTANCE, MADE_RPS, madeProfileOf } from '../ppipe/made-instance.js';

const SHARED = new URL('../../../shared/', import.meta.url);
const FOLDER = new URL('data/ppipe/', SHARED);
const there = existsSync(SHARED);

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

function problemOf(
  instance: Instance,
  profileOf = (model: string) => readProfile(FOLDER, model),
): PooledProblem {
  const { spec, cluster } = specOf(instance);
  const profiles = instance.models.map(({ model }) => profileOf(model));
  return resolvePooled(spec, { cluster, profiles, where: instance.id });
}

/** ONE_MODEL has a third of the instance's models and GPUs. */
const ONE_MODEL: Instance = {
  ...MADE_INSTANCE,
  devices: {
    A: { count: 1, perServer: 1, virtual: [1, 2] },
    B: { count: 2, perServer: 2, virtual: [1, 2] },
  },
  models: MADE_INSTANCE.models.slice(0, 1),
};

describe.each([
  ['three models', MADE_INSTANCE],
  ['one model', ONE_MODEL],
])('on an instance of %s made here, whose plans are worked out by hand', (_, instance) => {
  const problem = () => problemOf(instance, (model) => ({ profile: madeProfileOf(model), path: model }));

  test('planPooled() reaches the reference with a proven optimum', () => {
    const outcome = planPooled(problem(), { highs });
    if (!('plan' in outcome)) throw new Error(outcome.status);
    const { value, gap } = outcome.plan.objective;
    expect(outcome.status).toBe('optimal');
    expect(value).toBeGreaterThanOrEqual(MADE_RPS.reference * (1 - 1e-6));
    expect(gap).toBeLessThan(1e-9);
    expect(checkPlan(outcome.plan, problem())).toEqual([]);
  });

  // Three models may divide the GPUs in many ways that serve equally much uncut, and few of them leave pairs.
  const baselines =
    instance === ONE_MODEL ? (['no-partitioning', 'dart-r'] as const) : ['no-partitioning' as const];
  test.each(baselines)('planBaseline() gives %s to the digit', (baseline) => {
    const outcome = planBaseline(problem(), baseline, { highs });
    if (!('plan' in outcome)) throw new Error(outcome.status);
    expect(outcome.plan.models).toHaveLength(instance.models.length);
    for (const { throughputRps } of outcome.plan.models)
      expect(throughputRps / MADE_RPS[baseline]).toBeCloseTo(1, 6);
  });
});

describe.runIf(there)('on the published instances', () => {
  inWholeRun('planPooled() reaches every reference with a proven optimum', () => {
    for (const instance of readInstances(FOLDER).filter((_, i) => i % cases(9, 1) === 0)) {
      const problem = problemOf(instance);
      const outcome = planPooled(problem, { highs });
      if (!('plan' in outcome)) throw new Error(`${instance.id}: ${outcome.status}`);
      const { models, reference } = instance;
      const wanted = Math.min(...reference.throughputRps.map((rps, m) => rps / (models[m]?.weight ?? 1)));
      const { value, gap } = outcome.plan.objective;
      const { id } = instance;
      expect({
        id,
        status: outcome.status,
        reached: value >= wanted * (1 - 1e-6),
        tight: gap < 1e-9,
      }).toEqual({
        id,
        status: 'optimal',
        reached: true,
        tight: true,
      });
      expect({ id, faults: checkPlan(outcome.plan, problem) }).toEqual({ id, faults: [] });
    }
  });

  test('planBaseline() gives the published baselines of three models to the digit', () => {
    const withBaselines = readInstances(FOLDER).filter(({ reference }) => reference.dartR !== undefined);
    for (const instance of withBaselines.filter((_, i) => i % cases(4, 1) === 0)) {
      const { noPartitioning, dartR } = instance.reference;
      if (dartR === undefined || noPartitioning === undefined)
        throw new Error(`${instance.id}: one baseline`);
      for (const [baseline, wanted] of [
        ['no-partitioning', noPartitioning],
        ['dart-r', dartR],
      ] as const) {
        const outcome = planBaseline(problemOf(instance), baseline, { highs });
        if (!('plan' in outcome)) throw new Error(`${instance.id}: ${outcome.status}`);
        outcome.plan.models.forEach(({ throughputRps }, m) => {
          expect(throughputRps / (wanted.throughputRps[m] ?? 0)).toBeCloseTo(1, 6);
        });
      }
    }
  });
});
