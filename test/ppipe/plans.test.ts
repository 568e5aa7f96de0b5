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
import { baselineProblem, checkPlan, resolvePooled } from '../../src/milp/index.js';

const SHARED = new URL('../../../shared/', import.meta.url);
const FOLDER = new URL('data/ppipe/', SHARED);

describe.runIf(existsSync(SHARED))('publishedPlan()', () => {
  test('gives each published plan as the checker recomputes it, at the published throughputs', () => {
    const profileOf = profilesIn(FOLDER);
    let plans = 0;
    for (const instance of publishedInstances(FOLDER)) {
      const { spec, cluster } = specOf(instance);
      const profiles = instance.models.map(({ model }) => ({ profile: profileOf(model), path: model }));
      const problem = resolvePooled(spec, cluster, profiles, instance.id);
      for (const name of PUBLISHED_PLANS) {
        const plan = publishedPlan(instance, name, profileOf);
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

  test('keeps one model of several, on servers of its own', () => {
    const profileOf = profilesIn(FOLDER);
    const instance = publishedInstances(FOLDER).find(({ models }) => models.length === 3);
    const all = publishedPlan(instance!, 'reference', profileOf)!;
    const one = publishedPlan(instance!, 'reference', profileOf, 1)!;
    expect(one.models).toEqual([all.models[1]]);
    expect(one.placement.every(({ model }) => model === 0)).toBe(true);
    expect(one.placement.length).toBe(all.placement.filter(({ model }) => model === 1).length);
  });
});
