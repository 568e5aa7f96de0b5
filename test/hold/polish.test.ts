import { beforeAll, describe, expect, it } from 'vitest';
import { randomProblem, type Shape } from '../../bench/refute/pooled/random-problem.js';
import type { HeldRates } from '../../src/hold/held-rates.js';
import { variantsOf } from '../../src/hold/moves.js';
import { Polish, type Polished } from '../../src/hold/polish.js';
import type { HoldProgress, HoldTools, RatedPlan } from '../../src/hold/tools.js';
import { type HoldTrial, leastPerWeight } from '../../src/hold/trial.js';
import { type HighsEngine, loadHighs } from '../../src/lp/index.js';
import { type PlanBody, type PooledProblem, planPooled, regrouped } from '../../src/milp/index.js';
import { inWholeRun } from '../cases.js';

const SHAPE: Shape = { classes: 2, blocks: 4, batches: 3, virtual: [1, 2], models: 2, mostGpus: 24 };
const REQUESTS = 1e5;

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/** Every pool but the last of its pipeline holds four fifths of what is planned of it; the last one holds all of it. */
function heldOf({ models }: PlanBody): number[] {
  return models.map(({ pipelines }) =>
    pipelines.reduce((sum, { partitions }) => {
      const rates = partitions.map(
        ({ throughputRps }, d) => throughputRps * (d === partitions.length - 1 ? 1 : 0.8),
      );
      return sum + Math.min(...rates);
    }, 0),
  );
}

type Ranking = Pick<HoldTools, 'ranked' | 'isOver'> & { readonly asked: RatedPlan[] };

function tools(more: Partial<HoldTools> = {}): Ranking {
  const asked: RatedPlan[] = [];
  const ranked = async (plan: RatedPlan): Promise<HeldRates> => {
    asked.push(plan);
    const rps = heldOf(plan.plan);
    const holds = rps.every((rate, m) => rate >= (plan.leastRps?.[m] ?? 0));
    return { heldRps: holds ? rps : rps.map(() => 0), attainment: [], requests: REQUESTS };
  };
  return { asked, ranked, isOver: () => false, ...more };
}

const keyOf = (plan: PlanBody | undefined): string => JSON.stringify(plan?.models.map((m) => m.pipelines));

function startOf(seed: number, sloMargin = 0.1): { problem: PooledProblem; start: Polished } | undefined {
  const problem = randomProblem(seed, SHAPE, { sloMargin });
  const outcome = planPooled(problem, { highs });
  if (!('plan' in outcome)) return undefined;
  const heldRps = heldOf(outcome.plan);
  const value = leastPerWeight(problem.models, heldRps);
  const trial = { settings: [], outcome, heldRps, value } as HoldTrial;
  return { problem, start: { trial, heldRps, value, moved: 0 } };
}

const SEEDS = Array.from({ length: 14 }, (_, i) => i + 1);

describe('Polish', () => {
  it('gives pools that hold less than their planned rates more GPUs, and keeps only what holds more', async () => {
    let better = 0;
    for (const seed of SEEDS) {
      const { problem, start } = startOf(seed) ?? {};
      if (problem === undefined || start === undefined || start.value <= 0) continue;
      const told: HoldProgress[] = [];
      const polish = new Polish(problem, tools({ onProgress: (progress) => told.push(progress) }));
      const found = await polish.polished(start, []);
      expect(told.length).toBe(polish.variants);
      told.forEach((one, done) => {
        expect(one).toEqual({ phase: 'moving', done, of: 60, value: expect.any(Number) });
      });
      expect(found.heldRps).toEqual(heldOf(found.trial.outcome.plan));
      expect(found.value).toBe(leastPerWeight(problem.models, found.heldRps));
      expect(found.value > start.value).toBe(found.trial.outcome.plan !== start.trial.outcome.plan);
      expect(found.moved > 0).toBe(found.trial.outcome.plan !== start.trial.outcome.plan);
      if (found.value > start.value * 1.02) better += 1;
    }
    expect(better).toBeGreaterThan(2);
  });

  it('asks every variant for a little more than the best before it holds, and none twice', async () => {
    const { problem, start } = SEEDS.flatMap((seed) => startOf(seed) ?? []).find(
      ({ start: { value } }) => value > 0,
    ) as { problem: PooledProblem; start: Polished };
    const some = tools();
    const polish = new Polish(problem, some);
    await polish.polished(start, []);
    const [first] = some.asked as [RatedPlan];
    problem.models.forEach(({ weight }, m) => {
      expect((first.leastRps?.[m] as number) / (start.value * weight)).toBeCloseTo(1.001, 9);
    });
    const keys = some.asked.map(({ plan }) => JSON.stringify(plan.models));
    expect(new Set(keys).size).toBe(keys.length);
    expect(polish.variants).toBe(keys.length);
  });

  inWholeRun(
    'tries first what holds most where models keep their shares, and leaves out what cannot hold more',
    async () => {
      let orders = 0;
      for (const seed of SEEDS) {
        const { problem, start } = startOf(seed) ?? {};
        if (problem === undefined || start === undefined || start.value <= 0) continue;
        const asked: PlanBody[] = [];
        const ranked = async ({ plan, startRps }: RatedPlan) => {
          asked.push(plan);
          return { heldRps: startRps.map(() => 0), attainment: [], requests: REQUESTS };
        };
        await new Polish(problem, tools({ ranked })).polished(start, []);
        const { plan } = start.trial.outcome;
        const shares = start.heldRps.map((rps, m) => rps / (plan.models[m]?.throughputRps as number));
        const singles = variantsOf(plan, 'single').map(({ counts }) =>
          keyOf(regrouped(plan, counts, problem)),
        );
        const first = asked.filter((one) => singles.includes(keyOf(one)));
        // Single moves come before pairs.
        expect(asked.slice(0, first.length)).toEqual(first);
        const predicted = first.map(({ models }) =>
          leastPerWeight(
            problem.models,
            models.map(({ throughputRps }, m) => throughputRps * (shares[m] as number)),
          ),
        );
        predicted.slice(1).forEach((value, i) => {
          expect(value).toBeLessThanOrEqual((predicted[i] as number) * (1 + 1e-9));
        });
        if (new Set(predicted.map((value) => value.toFixed(6))).size > 1) orders += 1;
        for (const { models } of asked) {
          const planned = models.map(({ throughputRps }) => throughputRps);
          expect(leastPerWeight(problem.models, planned)).toBeGreaterThan(start.value * 0.99);
        }
      }
      expect(orders).toBeGreaterThan(1);
    },
  );

  it('tries the variants of other plans too, and gives the trial that it began with', async () => {
    let others = 0;
    for (const seed of SEEDS) {
      const { problem, start } = startOf(seed) ?? {};
      const { start: other } = startOf(seed, 0.4) ?? {};
      if (problem === undefined || start === undefined || other === undefined || other.value <= 0) continue;
      const { plan } = other.trial.outcome;
      const own = variantsOf(plan, 'single').map(({ counts }) => keyOf(regrouped(plan, counts, problem)));
      const ranked = async (rated: RatedPlan) => {
        const isOwn = own.includes(keyOf(rated.plan));
        const heldRps = rated.startRps.map((rps) => (isOwn ? rps : 0));
        return { heldRps, attainment: [], requests: 1e6 };
      };
      const low = { ...start, value: 0.9 * other.value };
      const found = await new Polish(problem, tools({ ranked })).polished(low, [other]);
      if (found === low) continue;
      others += 1;
      expect(found.trial.settings).toBe(other.trial.settings);
      expect(found.moved).toBeGreaterThan(0);
    }
    expect(others).toBeGreaterThan(1);
  });

  inWholeRun('ends after the requests that it may simulate, however many variants are left', async () => {
    const all: number[] = [];
    for (const requests of [1, 3.1e6]) {
      for (const seed of SEEDS) {
        const { problem, start } = startOf(seed) ?? {};
        if (problem === undefined || start === undefined || start.value <= 0) continue;
        const none = async (plan: RatedPlan) => ({
          heldRps: plan.startRps.map(() => 0),
          attainment: [],
          requests,
        });
        const polish = new Polish(problem, tools({ ranked: none }));
        expect(await polish.polished(start, [])).toBe(start);
        all.push(polish.variants);
        // Six million are simulated for two models.
        if (requests > 1) expect(polish.variants).toBeLessThanOrEqual(2);
      }
    }
    expect(Math.max(...all)).toBeGreaterThan(4);
  });

  it('ends where the time is over, and says so', async () => {
    for (const seed of SEEDS) {
      const { problem, start } = startOf(seed) ?? {};
      if (problem === undefined || start === undefined || start.value <= 0) continue;
      const usual = new Polish(problem, tools());
      await usual.polished(start, []);
      expect(usual.isCut).toBe(false);
      if (usual.variants === 0) continue;
      const over = new Polish(problem, tools({ isOver: () => true }));
      expect(await over.polished(start, [])).toBe(start);
      expect([over.isCut, over.variants]).toEqual([true, 0]);
      const late = new Polish(problem, tools({ ranked: async () => undefined }));
      expect(await late.polished(start, [])).toBe(start);
      expect(late.isCut).toBe(true);
    }
  });

  it('leaves plans with minimum shares as they are', async () => {
    const { problem, start } = startOf(
      SEEDS.find((seed) => (startOf(seed)?.start.value ?? 0) > 0) as number,
    ) as {
      problem: PooledProblem;
      start: Polished;
    };
    const [name] = Object.keys(problem.cluster.devices) as [string];
    const models = problem.models.map((model) => ({ ...model, minShare: { [name]: 0.1 } }));
    const some = tools();
    expect(await new Polish({ ...problem, models }, some).polished(start, [])).toBe(start);
    expect(some.asked).toEqual([]);
  });
});
