import { beforeAll, describe, expect, it } from 'vitest';
import { randomProblem, type Shape } from '../../bench/refute/pooled/random-problem.js';
import { checkedOutcome, promiseFaults } from '../../src/checks/index.js';
import {
  type HeldRates,
  type HoldProgress,
  type HoldTools,
  type RatedPlan,
  searchHeld,
} from '../../src/hold/index.js';
import { heldProblem, type ModelSetting, settingsAsked, withSettings } from '../../src/hold/settings.js';
import { type HighsEngine, loadHighs } from '../../src/lp/index.js';
import type { PlanBody, PooledOutcome, PooledProblem } from '../../src/milp/index.js';
import { boundPooled, planPooled } from '../../src/milp/index.js';
import { describeInWholeRun, inWholeRun, seeds, WHOLE, whole } from '../cases.js';

const SHAPE: Shape = {
  classes: 2,
  blocks: whole(3, 4),
  batches: whole(2, 3),
  virtual: [1, 2],
  models: 2,
  mostGpus: 16,
};

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/** A pipeline holds less of its rate, the closer its latency is to the SLO, and the larger its batch is. */
function heldOf(plan: PlanBody): number[] {
  return plan.models.map(({ sloMs, pipelines }) =>
    pipelines.reduce((sum, { latencyUs, batch, throughputRps }) => {
      const used = latencyUs / (1000 * sloMs);
      return sum + throughputRps * Math.max(0, 1 - used ** 4 - 0.02 * batch);
    }, 0),
  );
}

function tools(more: Partial<HoldTools> = {}): HoldTools & { simulated: PlanBody[] } {
  const simulated: PlanBody[] = [];
  const held = async (plans: readonly RatedPlan[]): Promise<HeldRates[]> =>
    plans.map(({ plan }) => {
      simulated.push(plan);
      return { heldRps: heldOf(plan), attainment: [], requests: 1 };
    });
  return {
    simulated,
    bounds: async (problems) => problems.map((problem) => boundPooled(problem, { highs })),
    plans: async (problems) =>
      problems.map((problem) => checkedOutcome(planPooled(problem, { highs }), problem)),
    held,
    ranked: async (plan) => (await held([plan]))[0] as HeldRates,
    promised: async (plan) => (await held([plan]))[0] as HeldRates,
    isOver: () => false,
    ...more,
  };
}

const asTimed = (outcome: PooledOutcome): PooledOutcome =>
  'plan' in outcome ? { ...outcome, limit: 'time' } : outcome;

const QUESTION = { attainment: [0.9, 0.9], arrivals: 'poisson' as const, mostTrials: whole(8, 60) };

const leastPerWeight = ({ models }: PooledProblem, rps: readonly number[]): number =>
  Math.min(...models.map(({ weight }, m) => (rps[m] as number) / weight));

/** What the best of the plans of a single margin holds. */
function bestSingleMargin(problem: PooledProblem): number {
  const margins = [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5];
  return Math.max(
    ...margins.map((sloMargin) => {
      const settings = settingsAsked(problem).map((setting) => ({ ...setting, sloMargin }));
      const outcome = planPooled(withSettings(problem, settings), { highs });
      return 'plan' in outcome ? leastPerWeight(problem, heldOf(outcome.plan)) : 0;
    }),
  );
}

/** The least price of the plans that hold their rates and are made by another margin and headroom of one model. */
function cheapestNear(problem: PooledProblem, settings: readonly ModelSetting[]): number {
  const margins = whole([0, 0.2, 0.4], [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]);
  const headrooms = whole([1, 1.1], [1, 1.02, 1.05, 1.1, 1.15, 1.2, 1.3]);
  const near = settings.flatMap((setting, m) =>
    margins.flatMap((sloMargin) =>
      headrooms.map((headroom) => settings.with(m, { ...setting, sloMargin, headroom })),
    ),
  );
  return Math.min(
    ...near.map((one) => {
      const outcome = planPooled(withSettings(problem, one), { highs });
      if (!('plan' in outcome)) return Number.POSITIVE_INFINITY;
      const held = heldOf(outcome.plan);
      const holds = problem.models.every(({ rps = 0 }, m) => (held[m] as number) >= rps);
      return holds ? outcome.plan.objective.value : Number.POSITIVE_INFINITY;
    }),
  );
}

describe('searchHeld() for throughput', () => {
  inWholeRun(
    'holds no less than the best single margin, mostly more, and never more than its bound',
    async () => {
      let better = 0;
      let found = 0;
      for (const seed of seeds(whole(2, 6), 6)) {
        const problem = randomProblem(seed, SHAPE, { sloMargin: 0.4 });
        const outcome = await searchHeld(problem, QUESTION, tools());
        const single = bestSingleMargin(problem);
        if (outcome.status !== 'held') {
          expect(single).toBeLessThanOrEqual(0);
          continue;
        }
        found += 1;
        const { hold, models } = outcome.plan;
        const rps = models.map(({ heldRps }) => heldRps as number);
        expect(hold?.value).toBeCloseTo(leastPerWeight(problem, rps), 9);
        expect(hold?.value).toBeGreaterThanOrEqual(single * (1 - 1e-9));
        expect(hold?.value).toBeLessThanOrEqual((hold?.bound as number) * (1 + 1e-9));
        if ((hold?.value as number) > single * 1.005) better += 1;
      }
      expect(found).toBeGreaterThan(whole(1, 3));
      expect(better).toBeGreaterThanOrEqual(1);
    },
  );

  inWholeRun('gives the same plan again, and simulates no plan twice', async () => {
    const problem = randomProblem(3, SHAPE, { sloMargin: 0.4 });
    const first = tools();
    const [one, two] = [
      await searchHeld(problem, QUESTION, first),
      await searchHeld(problem, QUESTION, tools()),
    ];
    expect(one).toMatchObject({ status: 'held', isCut: false });
    expect('plan' in one && one.plan).toEqual('plan' in two && two.plan);
    const trials = ('plan' in one && one.plan.hold?.trials) as number;
    const pipelines = first.simulated
      .slice(0, trials)
      .map(({ models }) => JSON.stringify(models.map((m) => m.pipelines)));
    expect(new Set(pipelines).size).toBe(trials);
  });

  inWholeRun('says what it is about to do in every phase', async () => {
    const phases = async (problem: PooledProblem) => {
      const told: HoldProgress[] = [];
      await searchHeld(
        problem,
        { ...QUESTION, mostTrials: 12 },
        tools({ onProgress: (progress) => told.push(progress) }),
      );
      for (const { phase, done, of = Number.POSITIVE_INFINITY } of told)
        if (phase !== 'trying') expect(done).toBeLessThanOrEqual(of);
      return [...new Set(told.map(({ phase }) => phase))];
    };
    expect(await phases(randomProblem(3, SHAPE, { sloMargin: 0.4 }))).toEqual([
      'trying',
      'ranking',
      'moving',
      'confirming',
    ]);
    if (!WHOLE) return;
    const priced = randomProblem(2, { ...SHAPE, mostGpus: 12 }, { objective: 'cost', sloMargin: 0.4 });
    const inOrder = await phases(priced);
    expect(inOrder).toEqual(expect.arrayContaining(['trying', 'ranking', 'confirming', 'lowering']));
  });

  inWholeRun('ends after the trials that it may do, and where the caller ends it', async () => {
    const problem = randomProblem(3, SHAPE, { sloMargin: 0.4 });
    const few = await searchHeld(problem, { ...QUESTION, mostTrials: 4 }, tools());
    expect(few).toMatchObject({ status: 'held', plan: { hold: { trials: 4 } } });
    let asked = 0;
    const cut = await searchHeld(problem, QUESTION, tools({ isOver: () => ++asked > 2 }));
    expect(cut).toMatchObject({ status: 'held', isCut: true });
    expect('plan' in cut && cut.plan.hold?.trials).toBeLessThan(10);
    const none = await searchHeld(problem, QUESTION, tools({ isOver: () => true }));
    expect(none.status).toBe('unfinished');
  });

  inWholeRun('promises nothing where the time is over before the best plan is confirmed', async () => {
    const problem = randomProblem(3, SHAPE, { sloMargin: 0.4 });
    const outcome = await searchHeld(problem, QUESTION, tools({ promised: async () => undefined }));
    expect(outcome).toEqual({ status: 'unfinished' });
  });

  it('confirms the plan that looked best where no time is left to compare plans, and says that it was cut', async () => {
    const problem = randomProblem(3, SHAPE, { sloMargin: 0.4 });
    const outcome = await searchHeld(problem, QUESTION, tools({ ranked: async () => undefined }));
    const usual = await searchHeld(problem, QUESTION, tools());
    if (outcome.status !== 'held' || usual.status !== 'held') throw new Error('no plan');
    expect([outcome.isCut, usual.isCut]).toEqual([true, false]);
    // All simulations say the same here, so what looks best is best. GPUs are moved only where there is time to rank plans.
    const { variants, moved, ...hold } = usual.plan.hold ?? {};
    expect([variants, moved]).toEqual([expect.any(Number), 0]);
    expect(outcome.plan).toEqual({ ...usual.plan, hold });
  });

  inWholeRun(
    'leaves out plans whose simulations were not ended in time, and says that it was cut',
    async () => {
      const problem = randomProblem(3, SHAPE, { sloMargin: 0.4 });
      const usual = tools();
      const held = async (plans: readonly RatedPlan[]) =>
        (await usual.held(plans)).map((rates, i) => (i === 0 ? undefined : rates));
      const some = await searchHeld(problem, QUESTION, { ...tools(), held });
      expect(some).toMatchObject({ status: 'held', isCut: true });
      const none = await searchHeld(
        problem,
        QUESTION,
        tools({ held: async (plans) => plans.map(() => undefined) }),
      );
      expect(none).toEqual({ status: 'unfinished' });
    },
  );

  inWholeRun('keeps what other seeds confirm, not what looked best', async () => {
    const problem = randomProblem(3, SHAPE, { sloMargin: 0.4 });
    const lucky = tools();
    const found: RatedPlan[] = [];
    const ranked = async (plan: RatedPlan): Promise<HeldRates> => {
      found.push(plan);
      // The plan that looked best holds half of what it seemed to hold.
      const share = found.length === 1 ? 0.5 : 1;
      return { heldRps: heldOf(plan.plan).map((rps) => share * rps), attainment: [], requests: 1 };
    };
    const outcome = await searchHeld(problem, QUESTION, { ...lucky, ranked });
    const rps = ('plan' in outcome ? outcome.plan.models : []).map(({ heldRps }) => heldRps);
    expect(found.length).toBeGreaterThan(1);
    expect(rps).toEqual(heldOf((found[1] as RatedPlan).plan));
    // A plan is asked for a little more than the best before it holds, and not for the rates of its own alone.
    const [first, second] = found as [RatedPlan, RatedPlan];
    const held = 0.5 * leastPerWeight(problem, heldOf(first.plan));
    expect(first.leastRps).toBeUndefined();
    problem.models.forEach(({ weight }, m) => {
      expect((second.leastRps?.[m] as number) / (held * weight)).toBeCloseTo(1.001, 9);
    });
  });

  inWholeRun('moves GPUs to where they hold more, and says how many', async () => {
    let moved = 0;
    let plans = 0;
    // All pools but the last of their pipelines hold less than what is planned.
    const held = ({ models }: PlanBody) =>
      models.map(({ pipelines }) =>
        pipelines.reduce((sum, { partitions }) => {
          const last = partitions.length - 1;
          const rates = partitions.map(({ throughputRps }, d) => throughputRps * (d === last ? 1 : 0.8));
          return sum + Math.min(...rates);
        }, 0),
      );
    const ranked = async ({ plan, leastRps }: RatedPlan): Promise<HeldRates> => {
      const rps = held(plan);
      const holds = rps.every((rate, m) => rate >= (leastRps?.[m] ?? 0));
      return { heldRps: holds ? rps : rps.map(() => 0), attainment: [], requests: 1 };
    };
    for (const seed of [6, 10, 11, 12]) {
      const problem = randomProblem(seed, { ...SHAPE, models: 1, mostGpus: 24 }, { sloMargin: 0.4 });
      const promised = async ({ startRps }: RatedPlan) => ({
        heldRps: startRps,
        attainment: [],
        requests: 1,
      });
      const all = async (asked: readonly RatedPlan[]) =>
        asked.map(({ plan }) => ({ heldRps: held(plan), attainment: [], requests: 1 }));
      const outcome = await searchHeld(problem, QUESTION, { ...tools(), held: all, ranked, promised });
      if (outcome.status !== 'held') continue;
      plans += 1;
      const { plan } = outcome;
      expect(checkedOutcome({ ...outcome.outcome, plan }, heldProblem(problem, plan))).toBeTruthy();
      expect(plan.models.map(({ heldRps }) => heldRps)).toEqual(held(plan));
      if ((plan.hold?.moved ?? 0) > 0) moved += 1;
    }
    expect(plans).toBeGreaterThan(3);
    expect(moved).toBeGreaterThan(1);
  });

  inWholeRun('promises what the last seeds confirm', async () => {
    const problem = randomProblem(3, SHAPE, { sloMargin: 0.4 });
    const usual = tools();
    const promised = async ({ plan, startRps }: RatedPlan): Promise<HeldRates> => {
      expect(startRps).toEqual(heldOf(plan));
      return { heldRps: startRps.map((rps) => 0.97 * rps), attainment: [], requests: 1 };
    };
    const [all, less] = [
      await searchHeld(problem, QUESTION, usual),
      await searchHeld(problem, QUESTION, { ...tools(), promised }),
    ];
    if (all.status !== 'held' || less.status !== 'held') throw new Error('no plan');
    expect(less.plan.hold?.value).toBeCloseTo(0.97 * (all.plan.hold?.value as number), 9);
  });
});

describeInWholeRun('searchHeld() where the confirming seeds say less than those before', () => {
  /** unlucky is a factor of 0.97 to 1 that only a plan's pipelines decide. */
  function unlucky({ models }: PlanBody): number {
    const text = JSON.stringify(models.map(({ pipelines }) => pipelines));
    let hash = 0;
    for (let i = 0; i < text.length; i++) hash = (31 * hash + text.charCodeAt(i)) % 1009;
    return 0.97 + (0.03 * hash) / 1009;
  }

  it('promises no less than the best plans of one margin are confirmed for', async () => {
    let found = 0;
    let kept = 0;
    // The eighth is one of the few whose search meets a plan that is confirmed for less than another.
    for (const seed of whole([8], seeds(12, 12))) {
      const problem = randomProblem(seed, SHAPE, { sloMargin: 0.4 });
      const confirmed: PlanBody[] = [];
      const promised = async ({ plan }: RatedPlan): Promise<HeldRates> => {
        confirmed.push(plan);
        return { heldRps: heldOf(plan).map((rps) => unlucky(plan) * rps), attainment: [], requests: 1 };
      };
      const outcome = await searchHeld(problem, QUESTION, tools({ promised }));
      if (outcome.status !== 'held') continue;
      found += 1;
      const value = outcome.plan.hold?.value as number;
      const all = confirmed.map((plan) => unlucky(plan) * leastPerWeight(problem, heldOf(plan)));
      expect(value).toBeCloseTo(Math.max(...all), 9);
      const margins = [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5];
      const singles = margins.map((sloMargin) => {
        const settings = settingsAsked(problem).map((setting) => ({ ...setting, sloMargin }));
        const one = planPooled(withSettings(problem, settings), { highs });
        if (!('plan' in one)) return { ranked: 0, promised: 0 };
        const ranked = leastPerWeight(problem, heldOf(one.plan));
        return { ranked, promised: unlucky(one.plan) * ranked };
      });
      const best = singles.reduce((most, one) => (one.ranked > most.ranked ? one : most));
      // A plan that holds 0.1 % more is not told apart.
      expect(value).toBeGreaterThanOrEqual(best.promised * (1 - 0.001));
      if (confirmed.length > 1 && value > (all[0] as number)) kept += 1;
    }
    expect(found).toBeGreaterThan(whole(0, 6));
    expect(kept).toBeGreaterThan(0);
  });
});

describeInWholeRun('searchHeld() for a price', () => {
  it('gives the cheapest plan found that holds the rates, and no cheaper one than its bound', async () => {
    let found = 0;
    for (const seed of seeds(whole(1, 8), 8)) {
      const problem = randomProblem(seed, { ...SHAPE, mostGpus: 12 }, { objective: 'cost', sloMargin: 0.4 });
      const outcome = await searchHeld(problem, { ...QUESTION, mostTrials: 14 }, tools());
      if (outcome.status !== 'held') continue;
      found += 1;
      const { plan } = outcome;
      const held = heldOf(plan);
      problem.models.forEach(({ rps = 0 }, m) => {
        expect(held[m]).toBeGreaterThanOrEqual(rps);
        expect(plan.models[m]).toMatchObject({ rps, heldRps: rps });
      });
      expect(plan.hold?.value).toBe(plan.objective.value);
      expect(plan.hold?.bound).toBeLessThanOrEqual(plan.objective.value * (1 + 1e-9));
    }
    expect(found).toBeGreaterThan(whole(0, 2));
  });

  inWholeRun(
    'gives a plan for which no other margin and headroom of one model gives a cheaper one that holds',
    async () => {
      let found = 0;
      let lowered = 0;
      // The eleventh small one has a first confirmed plan that is dearer than another that holds.
      for (const seed of whole([11], seeds(8, 8))) {
        const problem = randomProblem(
          seed,
          { ...SHAPE, mostGpus: 12 },
          { objective: 'cost', sloMargin: 0.4 },
        );
        let first: number | undefined;
        const base = tools();
        // The few runs of a trial say too little, so that more headroom is asked for than is needed.
        const held = async (plans: readonly RatedPlan[]): Promise<HeldRates[]> =>
          plans.map(({ plan }) => ({
            heldRps: heldOf(plan).map((rps) => 0.85 * rps),
            attainment: [],
            requests: 1,
          }));
        const promised = async (plan: RatedPlan, seeds: readonly number[]) => {
          first ??= plan.plan.objective.value;
          return base.promised(plan, seeds);
        };
        const outcome = await searchHeld(
          problem,
          { ...QUESTION, mostTrials: 8 },
          { ...base, held, promised },
        );
        if (outcome.status !== 'held') continue;
        found += 1;
        const { value } = outcome.plan.objective;
        if (value < (first ?? 0)) lowered += 1;
        expect(value).toBeLessThanOrEqual(first as number);
        const settings = (outcome.plan.hold?.models ?? []) as unknown as ModelSetting[];
        expect(cheapestNear(problem, settings)).toBeGreaterThanOrEqual(value * (1 - 1e-9));
      }
      expect(found).toBeGreaterThan(whole(0, 3));
      expect(lowered).toBeGreaterThan(0);
    },
  );

  inWholeRun('plans again with more headroom where other seeds do not confirm the rates', async () => {
    const problem = randomProblem(2, { ...SHAPE, mostGpus: 12 }, { objective: 'cost', sloMargin: 0.4 });
    const strict = async ({ plan }: RatedPlan): Promise<HeldRates> => ({
      heldRps: heldOf(plan).map((rps) => 0.9 * rps),
      attainment: [],
      requests: 1,
    });
    const outcome = await searchHeld(problem, QUESTION, tools({ promised: strict }));
    if (outcome.status === 'held')
      problem.models.forEach(({ rps = 0 }, m) => {
        expect(0.9 * (heldOf(outcome.plan)[m] as number)).toBeGreaterThanOrEqual(rps);
      });
    else expect(outcome.status).toBe('not-held');
  });

  inWholeRun('judges every plan by seeds of its own, and says by which the plan was confirmed', async () => {
    const problem = randomProblem(2, { ...SHAPE, mostGpus: 12 }, { objective: 'cost', sloMargin: 0.4 });
    const judged: (readonly number[])[] = [];
    const promised = async ({ plan }: RatedPlan, seeds: readonly number[]): Promise<HeldRates> => {
      judged.push(seeds);
      const heldRps = heldOf(plan).map((rps) => (judged.length === 1 ? 0 : rps));
      return { heldRps, attainment: [], requests: 1 };
    };
    const outcome = await searchHeld(problem, QUESTION, tools({ promised }));
    const all = judged.flat();
    expect(new Set(all).size).toBe(all.length);
    if (outcome.status === 'held') expect(outcome.plan.hold?.runs.seeds).toEqual(judged.at(-1));
  });

  inWholeRun('raises headroom step by step where small plans hold small shares', async () => {
    let found = 0;
    for (const seed of seeds(whole(1, 3), 3)) {
      const problem = randomProblem(seed, { ...SHAPE, mostGpus: 24 }, { objective: 'cost', sloMargin: 0.1 });
      // A plan for twice the rate holds it; one for the rate itself holds a fifth of it.
      const shareOf = ({ models }: PlanBody) =>
        Math.min(
          1,
          ...models.map(({ throughputRps, name }) => {
            const rps = problem.models.find((model) => model.name === name)?.rps as number;
            return Math.max(0.2, throughputRps / rps - 1);
          }),
        );
      const held = async (plans: readonly RatedPlan[]): Promise<HeldRates[]> =>
        plans.map(({ plan }) => ({
          heldRps: plan.models.map((_, m) => (problem.models[m]?.rps as number) * shareOf(plan)),
          attainment: [],
          requests: 1,
        }));
      const promised = async (plan: RatedPlan) => (await held([plan]))[0] as HeldRates;
      const twice = {
        ...problem,
        models: problem.models.map((model) => ({ ...model, rps: 2.2 * (model.rps as number) })),
      };
      if (!('plan' in planPooled(twice, { highs }))) continue;
      const outcome = await searchHeld(problem, QUESTION, tools({ held, promised }));
      expect(outcome.status).toBe('held');
      found += 1;
    }
    expect(found).toBeGreaterThan(0);
  });

  inWholeRun(
    'gives the plan that was confirmed before the time was over, and else says that it did not end',
    async () => {
      const problem = randomProblem(2, { ...SHAPE, mostGpus: 12 }, { objective: 'cost', sloMargin: 0.4 });
      const usual = await searchHeld(problem, QUESTION, tools());
      expect(usual).toMatchObject({ status: 'held', isCut: false });
      const none = await searchHeld(problem, QUESTION, tools({ promised: async () => undefined }));
      expect(none).toEqual({ status: 'unfinished' });
      const unranked = await searchHeld(problem, QUESTION, tools({ ranked: async () => undefined }));
      expect(unranked).toMatchObject({ status: 'held', isCut: true });
      const cutAfter = tools({ plans: async (problems) => (await tools().plans(problems)).map(asTimed) });
      expect(await searchHeld(problem, QUESTION, cutAfter)).toMatchObject({ status: 'held', isCut: true });
    },
  );

  inWholeRun('says how near it came where no plan holds the rates', async () => {
    const problem = randomProblem(2, { ...SHAPE, mostGpus: 12 }, { objective: 'cost', sloMargin: 0.4 });
    const half = { heldRps: problem.models.map(({ rps = 0 }) => rps / 2), attainment: [], requests: 1 };
    const held = async (plans: readonly RatedPlan[]): Promise<HeldRates[]> => plans.map(() => half);
    const one = async () => half;
    const outcome = await searchHeld(problem, QUESTION, tools({ held, ranked: one, promised: one }));
    const near = { status: 'not-held', heldShare: expect.closeTo(0.5, 9), judgedBy: 'lower-end' };
    expect(outcome).toMatchObject(near);
  });

  inWholeRun(
    'confirms larger plans where all trials lacked so little that the same plans came again',
    async () => {
      let found = 0;
      const few = { ...QUESTION, mostTrials: 12 };
      for (const seed of seeds(whole(1, 8), 8)) {
        const problem = randomProblem(
          seed,
          { ...SHAPE, mostGpus: 24 },
          { objective: 'cost', sloMargin: 0.1 },
        );
        const rates = problem.models.map(({ rps = 0 }) => rps);
        const isLarge = ({ models }: PlanBody) =>
          models.every(({ throughputRps }, m) => throughputRps >= 1.5 * (rates[m] as number));
        const one = async ({ plan }: RatedPlan): Promise<HeldRates> => ({
          heldRps: rates.map((rps) => (isLarge(plan) ? 1 : 0.9999) * rps),
          attainment: [],
          requests: 1,
        });
        const held = async (plans: readonly RatedPlan[]): Promise<HeldRates[]> =>
          plans.map(() => ({ heldRps: rates.map((rps) => 0.9999 * rps), attainment: [], requests: 1 }));
        const models = problem.models.map((model) => ({ ...model, rps: 1.7 * (model.rps as number) }));
        if (!('plan' in planPooled({ ...problem, models }, { highs }))) continue;
        const outcome = await searchHeld(problem, few, tools({ held, ranked: one, promised: one }));
        expect(outcome.status).toBe('held');
        found += 1;
      }
      expect(found).toBeGreaterThan(whole(0, 2));
    },
  );

  inWholeRun(
    'finds a plan for nearly all that the search for throughput holds, and one that passes its check',
    async () => {
      let found = 0;
      for (const seed of seeds(whole(1, 3), 3)) {
        const asked = randomProblem(seed, { ...SHAPE, mostGpus: 24 }, { objective: 'cost', sloMargin: 0.4 });
        const planner = { ...asked.planner, objective: 'throughput' as const };
        const most = await searchHeld({ ...asked, planner }, QUESTION, tools());
        if (most.status !== 'held') continue;
        for (const share of whole([0.999], [0.99, 0.999])) {
          const value = share * (most.plan.hold?.value as number);
          const models = asked.models.map((model) => ({ ...model, rps: value * model.weight }));
          const problem = { ...asked, models };
          const outcome = await searchHeld(problem, QUESTION, tools());
          if (outcome.status !== 'held') throw new Error(`${seed} at ${share}: ${outcome.status}`);
          found += 1;
          const { plan } = outcome;
          expect(checkedOutcome({ ...outcome.outcome, plan }, heldProblem(problem, plan))).toBeTruthy();
          expect(promiseFaults(plan).filter(({ path }) => path !== '/hold/runs/durationS')).toEqual([]);
          const held = heldOf(plan);
          models.forEach(({ rps }, m) => {
            expect(held[m]).toBeGreaterThanOrEqual(rps * (1 - 1e-9));
          });
        }
      }
      expect(found).toBeGreaterThan(whole(0, 3));
    },
  );

  it('names the share that was confirmed where plans hold the rates by the seeds of the search alone', async () => {
    const problem = randomProblem(2, { ...SHAPE, mostGpus: 12 }, { objective: 'cost', sloMargin: 0.4 });
    const all = problem.models.map(({ rps = 0 }) => rps);
    const holding = (share: number): HeldRates => ({
      heldRps: all.map((rps) => share * rps),
      attainment: [],
      requests: 1,
    });
    const outcome = await searchHeld(
      problem,
      QUESTION,
      tools({
        held: async (plans) => plans.map(() => holding(1)),
        ranked: async () => holding(0.9997),
        promised: async () => holding(0.5),
      }),
    );
    const near = { status: 'not-held', heldShare: expect.closeTo(0.9997, 9), judgedBy: 'lower-end' };
    expect(outcome).toMatchObject(near);
  });
});

describe('searchHeld() of a problem without a plan', () => {
  it('plans nothing for a share that no runs could confirm', async () => {
    const problem = randomProblem(3, SHAPE, { sloMargin: 0.4 });
    const plans = async () => {
      throw new Error('planned');
    };
    const near = { ...QUESTION, attainment: [0.9, 0.9999999] };
    const outcome = await searchHeld(problem, near, tools({ plans }));
    expect(outcome).toMatchObject({ status: 'unconfirmable' });
    const most = outcome.status === 'unconfirmable' ? (outcome.most[1] as number) : 0;
    const within = { ...QUESTION, attainment: [0.9, most], mostTrials: 2 };
    expect((await searchHeld(problem, within, tools())).status).not.toBe('unconfirmable');
  });

  it('says what the planner says', async () => {
    const problem = randomProblem(3, SHAPE, { sloMargin: 0.4 });
    const models = problem.models.map((model) => ({ ...model, sloUs: 1 }));
    const outcome = await searchHeld({ ...problem, models }, QUESTION, tools());
    expect(outcome).toMatchObject({ status: 'no-plan', outcome: { status: 'infeasible' } });
  });

  it('says what the planner says of the smallest margin, where no plan is found and a bound is', async () => {
    const problem = randomProblem(3, SHAPE, { sloMargin: 0.4 });
    const late = problem.models.map((model) => ({ ...model, sloUs: 1 }));
    const none = planPooled({ ...problem, models: late }, { highs });
    if (none.status !== 'infeasible') throw new Error(none.status);
    const plans = async (problems: readonly PooledProblem[]): Promise<PooledOutcome[]> =>
      problems.map(({ models }) => {
        const margins = models.map(({ sloMarginUs, sloUs }) => (sloMarginUs / sloUs).toFixed(2));
        return { ...none, reasons: [margins.join()] };
      });
    const outcome = await searchHeld(
      problem,
      QUESTION,
      tools({ bounds: async (all) => all.map(() => 1), plans }),
    );
    expect(outcome).toMatchObject({ status: 'no-plan', outcome: { reasons: ['0.00,0.00'] } });
  });
});
