import { existsSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Instance, readInstances, readProfile, specOf } from '../../bench/ppipe/instances.js';
import {
  checkPlan,
  type HighsEngine,
  loadHighs,
  type PooledProblem,
  planBaseline,
  planPooled,
  resolvePooled,
} from '../../src/milp/index.js';
import { cases } from '../cases.js';

const SHARED = new URL('../../../shared/', import.meta.url);
const FOLDER = new URL('data/ppipe/', SHARED);
const there = existsSync(SHARED);

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

function problemOf(instance: Instance): PooledProblem {
  const { spec, cluster } = specOf(instance);
  const profiles = instance.models.map(({ model }) => readProfile(FOLDER, model));
  return resolvePooled(spec, { cluster, profiles, where: instance.id });
}

describe.runIf(there)('on the published instances', () => {
  test('planPooled() reaches every reference with a proven optimum', () => {
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
