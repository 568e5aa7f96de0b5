import { beforeAll, describe, expect, it } from 'vitest';
import { randomProblem, type Shape } from '../../bench/refute/pooled/random-problem.js';
import { checkPlan } from '../../src/checks/index.js';
import { asAsked, heldProblem, settingsAsked, withSettings } from '../../src/hold/settings.js';
import { type HighsEngine, loadHighs } from '../../src/lp/index.js';
import { boundPooled, planPooled } from '../../src/milp/index.js';
import { describeInWholeRun, whole } from '../cases.js';

const SHAPE: Shape = { classes: 2, blocks: 4, batches: 3, virtual: [1, 2], models: 2, mostGpus: 6 };

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

describe('settings', () => {
  it('that a problem asks for itself change nothing', () => {
    for (let seed = 1; seed <= whole(8, 20); seed++) {
      const problem = randomProblem(seed, SHAPE, { sloMargin: 0.2 });
      const same = planPooled(withSettings(problem, settingsAsked(problem)), { highs });
      const plan = planPooled(problem, { highs });
      expect('plan' in same && same.plan.models).toEqual('plan' in plan && plan.plan.models);
    }
  });

  it('withhold their margin, plan no larger batch, and share by headroom', () => {
    let planned = 0;
    for (let seed = 1; seed <= whole(10, 40); seed++) {
      const problem = randomProblem(seed, SHAPE, { sloMargin: 0.2 });
      const settings = [
        { sloMargin: 0.1, batchFormation: 'none' as const, headroom: 1.5, mostBatch: 1 },
        { sloMargin: 0.3, batchFormation: 'none' as const, headroom: 1 },
      ];
      const outcome = planPooled(withSettings(problem, settings), { highs });
      if (!('plan' in outcome)) continue;
      planned += 1;
      const { models } = outcome.plan;
      expect(models.map(({ sloMs, sloMarginMs }) => sloMarginMs / sloMs)).toEqual([
        expect.closeTo(0.1, 9),
        expect.closeTo(0.3, 9),
      ]);
      expect(models[0]?.pipelines.every(({ batch }) => batch === 1)).toBe(true);
      const weights = problem.models.map(({ weight }) => weight);
      expect(models.map(({ weight }) => weight)).toEqual([(weights[0] as number) * 1.5, weights[1]]);

      const none = settingsAsked(problem).map((setting) => ({ ...setting, sloMargin: 0 }));
      const bound = boundPooled(withSettings(problem, none), { highs }) as number;
      const asked = asAsked(outcome.plan, problem, bound);
      const hold = { models: settings } as unknown as NonNullable<typeof asked.hold>;
      // The checker recomputes the objective with the spec's own weights.
      expect(checkPlan(asked, heldProblem(problem, { hold }))).toEqual([]);
      expect(asked.objective.bound).toBeGreaterThanOrEqual(asked.objective.value);
    }
    expect(planned).toBeGreaterThan(whole(3, 10));
  });
});

describeInWholeRun('boundPooled()', () => {
  it('is never beaten by a plan, and is undefined only where there is none', () => {
    let compared = 0;
    for (const objective of ['throughput', 'cost'] as const) {
      for (let seed = 1; seed <= whole(10, 40); seed++) {
        const problem = randomProblem(seed, SHAPE, { objective, sloMargin: 0.2 });
        const bound = boundPooled(problem, { highs });
        const outcome = planPooled(problem, { highs });
        if (!('plan' in outcome)) continue;
        compared += 1;
        const { value } = outcome.plan.objective;
        if (objective === 'throughput') expect(bound).toBeGreaterThanOrEqual(value * (1 - 1e-9));
        else expect(bound).toBeLessThanOrEqual(value * (1 + 1e-9));
      }
    }
    expect(compared).toBeGreaterThan(whole(10, 30));
  });
});
