import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { specOf } from '../../bench/ppipe/instances.js';
import {
  PUBLISHED_PLANS,
  profilesIn,
  publishedInstances,
  publishedPlan,
  publishedRps,
} from '../../bench/ppipe/plans.js';
import { checkPlan } from '../../src/checks/index.js';
import { baselineProblem, resolvePooled } from '../../src/milp/index.js';
import { MADE_INSTANCE, MADE_RPS, madeProfileOf } from './made-instance.js';

const SHARED = new URL('../../../shared/', import.meta.url);
const FOLDER = new URL('data/ppipe/', SHARED);

describe('publishedPlan() of a generated instance', () => {
  const { spec, cluster } = specOf(MADE_INSTANCE);
  const profiles = MADE_INSTANCE.models.map(({ model }) => ({
    profile: madeProfileOf(model),
    path: model,
  }));
  const problem = resolvePooled(spec, { cluster, profiles, where: 'made' });

  test.each(PUBLISHED_PLANS)('gives the plan %s with the figures worked out by hand', (name) => {
    const plan = publishedPlan(MADE_INSTANCE, name, { profileOf: madeProfileOf })!;
    for (const { throughputRps } of plan.models) expect(throughputRps).toBeCloseTo(MADE_RPS[name], 6);
    expect(plan.objective.value).toBeCloseTo(MADE_RPS[name], 6);
    expect(publishedRps(MADE_INSTANCE, name)).toEqual(MADE_INSTANCE.models.map(() => MADE_RPS[name]));
    const checked = name === 'reference' ? problem : baselineProblem(problem, name);
    expect(checkPlan(plan, checked)).toEqual([]);
    expect(plan.classes).toEqual({ A: { used: 3, count: 3 }, B: { used: 6, count: 6 } });
  });

  test('gives undefined where a plan was not published, and throws where a plan does not reach its published throughput', () => {
    const { dartR: _, ...reference } = MADE_INSTANCE.reference;
    const bare = { ...MADE_INSTANCE, reference };
    expect(publishedPlan(bare, 'dart-r', { profileOf: madeProfileOf })).toBeUndefined();
    expect(publishedRps(bare, 'dart-r')).toBeUndefined();
    const [first] = reference.pipelines;
    const boasting = first!.map((pipeline) => ({ ...pipeline, throughputRps: 2001 }));
    const wrong = {
      ...bare,
      reference: { ...reference, pipelines: [boasting, ...reference.pipelines.slice(1)] },
    };
    expect(() => publishedPlan(wrong, 'reference', { profileOf: madeProfileOf })).toThrow(
      /made_A-B_3 is published at 2001 and comes to 2000 rps/,
    );
  });

  test('keeps one model of several, on servers of its own', () => {
    const all = publishedPlan(MADE_INSTANCE, 'reference', { profileOf: madeProfileOf })!;
    const one = publishedPlan(MADE_INSTANCE, 'reference', { profileOf: madeProfileOf, only: 1 })!;
    expect(one.models).toEqual([all.models[1]]);
    expect(one.placement.every(({ model }) => model === 0)).toBe(true);
    expect(one.placement).toHaveLength(4);
  });
});

describe.runIf(existsSync(SHARED))('publishedPlan()', () => {
  test('gives each published plan as the checker recomputes it, at the published throughputs', () => {
    const profileOf = profilesIn(FOLDER);
    let plans = 0;
    for (const instance of publishedInstances(FOLDER)) {
      const { spec, cluster } = specOf(instance);
      const profiles = instance.models.map(({ model }) => ({ profile: profileOf(model), path: model }));
      const problem = resolvePooled(spec, { cluster, profiles, where: instance.id });
      for (const name of PUBLISHED_PLANS) {
        const plan = publishedPlan(instance, name, { profileOf });
        const wanted = publishedRps(instance, name);
        expect(plan === undefined).toBe(wanted === undefined);
        if (plan === undefined) continue;
        plans += 1;
        const checked = name === 'reference' ? problem : baselineProblem(problem, name);
        expect({ id: instance.id, name, faults: checkPlan(plan, checked) }).toEqual({
          id: instance.id,
          name,
          faults: [],
        });
        const over = plan.models.map(({ throughputRps }, m) => throughputRps / (wanted?.[m] as number));
        expect(Math.min(...over)).toBeCloseTo(1, 6);
        if (name !== 'reference') expect(Math.max(...over)).toBeCloseTo(1, 6);
      }
    }
    expect(plans).toBe(22 * 2 + 12);
  });
});
