import { beforeAll, expect, it } from 'vitest';
import { randomProblem, type Shape } from '../../bench/refute/pooled/random-problem.js';
import { checkPlan } from '../../src/checks/index.js';
import type { HeldRates, HoldTools, RatedPlan } from '../../src/hold/index.js';
import { PriceConfirmation } from '../../src/hold/price.js';
import { pricedPlan, pricedSettings, servesRates, servingProblem } from '../../src/hold/priced.js';
import { settingsAsked } from '../../src/hold/settings.js';
import type { HoldTrial } from '../../src/hold/trial.js';
import { type HighsEngine, loadHighs } from '../../src/lp/index.js';
import type { PlanBody, PooledProblem } from '../../src/milp/index.js';
import { boundPooled, planPooled } from '../../src/milp/index.js';
import { inWholeRun, whole } from '../cases.js';

const SHAPE: Shape = { classes: 2, blocks: 4, batches: 3, virtual: [1, 2], models: 1, mostGpus: 16 };

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

function planOf(problem: PooledProblem): PlanBody | undefined {
  const outcome = planPooled(problem, { highs });
  return 'plan' in outcome ? outcome.plan : undefined;
}

/** atShare asks a priced problem for a share of the most that its GPUs serve of its rates. */
function atShare(problem: PooledProblem, share: number): PooledProblem | undefined {
  const most = planOf(servingProblem(problem))?.objective.value;
  if (most === undefined) return undefined;
  const models = problem.models.map((model) => ({ ...model, rps: share * most * (model.rps as number) }));
  return { ...problem, models };
}

inWholeRun(
  'PriceConfirmation takes the most headroom that has a plan, where what a plan lacked has none',
  async () => {
    let found = 0;
    for (let seed = 1; seed <= whole(2, 8); seed++) {
      const problem = atShare(randomProblem(seed, SHAPE, { objective: 'cost', sloMargin: 0.1 }), 0.9);
      if (problem === undefined) continue;
      const rates = problem.models.map(({ rps }) => rps as number);
      const isLarge = ({ models }: PlanBody) =>
        models.every(({ throughputRps }, m) => throughputRps >= 1.06 * (rates[m] as number));
      const one = async ({ plan }: RatedPlan): Promise<HeldRates> => ({
        heldRps: rates.map((rps) => (isLarge(plan) ? rps : 0.8 * rps)),
        attainment: [],
        requests: 1,
      });
      const tools: HoldTools = {
        bounds: async (problems) => problems.map((asked) => boundPooled(asked, { highs })),
        plans: async (problems) => problems.map((asked) => planPooled(asked, { highs })),
        held: async () => [],
        ranked: one,
        promised: one,
        isOver: () => false,
      };
      const outcome = planPooled(problem, { highs });
      if (!('plan' in outcome) || isLarge(outcome.plan)) continue;
      const trial: HoldTrial = { settings: settingsAsked(problem), outcome, heldRps: rates, value: 0 };
      const confirmed = await new PriceConfirmation(problem, tools).cheapest([trial]);
      expect(confirmed, `seed ${seed}`).toBeDefined();
      expect(isLarge(confirmed?.outcome.plan as PlanBody)).toBe(true);
      found += 1;
    }
    expect(found).toBeGreaterThan(whole(0, 2));
  },
);

it('pricedPlan() of a plan that serves the rates answers the priced problem, and its settings have a plan', () => {
  let found = 0;
  for (const objective of ['cost', 'power'] as const)
    for (let seed = 1; seed <= whole(2, 5); seed++) {
      const asked = randomProblem(seed, { ...SHAPE, models: 2 }, { objective, sloMargin: 0.1 });
      const problem = atShare(asked, 0.95);
      const serving = problem && planOf(servingProblem(problem));
      if (problem === undefined || serving === undefined) continue;
      expect(servesRates(serving, problem)).toBe(true);
      const priced = pricedPlan(serving, problem);
      const bounded = { ...priced, objective: { ...priced.objective, bound: 0, gap: Number.MAX_VALUE } };
      const faults = checkPlan({ ...bounded, status: 'feasible' }, problem);
      expect(faults.filter(({ path }) => !path.startsWith('/classes') && !path.includes('gap'))).toEqual([]);
      const settings = pricedSettings(settingsAsked(problem), serving, problem);
      settings.forEach(({ headroom }, m) => {
        const served = serving.models[m]?.throughputRps as number;
        expect(headroom * (problem.models[m]?.rps as number)).toBeLessThanOrEqual(served * (1 + 1e-12));
        expect(headroom).toBeGreaterThanOrEqual(1);
      });
      found += 1;
    }
  expect(found).toBeGreaterThan(whole(1, 4));
});
