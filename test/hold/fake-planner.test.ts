import { describe, expect, it } from 'vitest';
import { searchHeld } from '../../src/hold/index.js';
import { asAsked, settingsAsked, withSettings } from '../../src/hold/settings.js';
import { heldShareOf, leastPerWeight } from '../../src/hold/trial.js';
import { askedShare, heldValue } from '../../src/hold/value.js';
import type { PlanBody, PooledOutcome, PooledProblem, ProblemModel } from '../../src/milp/index.js';
import { fakeOutcome, fakeProblem, fakeTools, heldBy, madeBy } from './fake-planner.js';

const TARGET = { attainment: [0.9], arrivals: 'poisson', mostTrials: 60 } as const;

describe('A search for the most held requests', () => {
  it('finds the margin that holds most, and says by which runs', async () => {
    const { tools, simulated, progress } = fakeTools();
    const outcome = await searchHeld(fakeProblem(), TARGET, tools);
    if (outcome.status !== 'held') throw new Error(outcome.status);
    const { plan, isCut } = outcome;
    expect(isCut).toBe(false);
    // 100 · (1 − m) · (0.5 + 2m) grows up to the margin of a quarter, and falls from there on.
    expect(madeBy(plan).margin).toBeCloseTo(0.25, 9);
    expect(plan).toMatchObject({
      objective: { value: 75, bound: 100, gap: expect.closeTo(1 / 3, 9) },
      status: 'feasible',
      models: [{ heldRps: 75 }],
      classes: { A: { used: 10 } },
      hold: {
        value: 75,
        bound: expect.closeTo(100 / 0.9, 9),
        runs: { arrivals: 'poisson', confidence: 0.95, warmUp: { fillSlos: 1, settleSlos: 10 } },
        models: [{ name: 'm', attainment: 0.9, sloMargin: 0.25, batchFormation: 'none' }],
      },
    });
    expect(plan.classes.A).not.toHaveProperty('shadowPrice');
    expect(plan.hold!.runs).not.toHaveProperty('cv');
    const tried = progress.filter(({ phase }) => phase === 'trying');
    expect(plan.hold!.trials).toBe(tried.length);
    expect(tried.at(-1)).toEqual({ phase: 'trying', done: tried.length, of: 60, value: 75 });
    expect(progress.at(-1)!.phase).toMatch(/confirming|ranking/);
    // No plan is tried twice, so that only the best are simulated again.
    const margins = simulated.slice(0, tried.length).map(({ margin }) => margin.toFixed(6));
    expect(new Set(margins).size).toBe(tried.length);
  });

  it('tries no more plans than it may, and confirms the best of these', async () => {
    const { tools, progress } = fakeTools();
    const outcome = await searchHeld(fakeProblem(), { ...TARGET, mostTrials: 3, cv: 2 }, tools);
    if (outcome.status !== 'held') throw new Error(outcome.status);
    const tried = progress.filter(({ phase }) => phase === 'trying');
    expect(tried.length).toBeGreaterThanOrEqual(3);
    expect(tried.length).toBeLessThan(8);
    expect(outcome.plan.hold).toMatchObject({ trials: tried.length, runs: { cv: 2 } });
  });

  it('is unfinished where its time is over before a plan is confirmed', async () => {
    const { tools } = fakeTools({ promised: async () => undefined });
    expect(await searchHeld(fakeProblem(), TARGET, tools)).toEqual({ status: 'unfinished' });
    const { tools: none } = fakeTools({ isOver: () => true });
    expect(await searchHeld(fakeProblem(), TARGET, none)).toEqual({ status: 'unfinished' });
  });

  it('simulates each margin that could be better, four at a time, and then finer ones', async () => {
    // A plan holds all of its rate from a margin of 0.27 on: 73 requests/s.
    const held = (plan: PlanBody) => {
      const { margin, gpus } = madeBy(plan);
      return 10 * gpus * (1 - margin) * Math.min(1, 0.46 + 2 * margin);
    };
    const { tools, simulated } = fakeTools({}, held);
    const outcome = await searchHeld(fakeProblem(), TARGET, tools);
    if (outcome.status !== 'held') throw new Error(outcome.status);
    // The asked margin comes first. Of 0.4 and more, not even all over nine tenths is as much as 0.25 holds.
    expect(simulated.slice(0, 8).map(({ margin }) => margin)).toEqual([
      0.1, 0, 0.05, 0.15, 0.2, 0.25, 0.3, 0.35,
    ]);
    expect(simulated.some(({ margin }) => margin >= 0.4)).toBe(false);
    expect(madeBy(outcome.plan).margin).toBeCloseTo(0.265, 9);
    expect(outcome.plan.hold!.value).toBeCloseTo(73.5 * 0.99, 9);
  });

  it('gives what the last runs say of each model', async () => {
    const figure = { mean: 0.95, low: 0.94, high: 0.96 } as never;
    const promised = async () => ({ heldRps: [70], attainment: [figure], requests: 1 });
    const { tools } = fakeTools({ promised });
    const outcome = await searchHeld(fakeProblem(), TARGET, tools);
    if (outcome.status !== 'held') throw new Error(outcome.status);
    expect(outcome.plan.hold!.models[0]!.simulated).toEqual({ mean: 0.95, low: 0.94, high: 0.96 });
    const { tools: without } = fakeTools();
    const plain = await searchHeld(fakeProblem(), TARGET, without);
    expect('plan' in plain && plain.plan.hold!.models[0]).not.toHaveProperty('simulated');
  });

  it('says what the planner says where there is no plan, and else how much is held', async () => {
    const infeasible = { status: 'infeasible', reasons: [] } as unknown as PooledOutcome;
    const none = fakeTools({ plans: async (problems) => problems.map(() => infeasible) });
    expect(await searchHeld(fakeProblem(), TARGET, none.tools)).toEqual({
      status: 'no-plan',
      outcome: infeasible,
    });
    const unplanned = fakeTools({ plans: async () => [] });
    expect(await searchHeld(fakeProblem(), TARGET, unplanned.tools)).toEqual({ status: 'unfinished' });
    const nothing = fakeTools({}, () => 0);
    expect(await searchHeld(fakeProblem(), TARGET, nothing.tools)).toMatchObject({
      status: 'not-held',
      isCut: false,
      heldShare: 0,
      heldRps: [0],
      judgedBy: 'mean',
    });
    const unknown = fakeTools({ held: async (plans) => plans.map(() => undefined) });
    expect(await searchHeld(fakeProblem(), TARGET, unknown.tools)).toEqual({ status: 'unfinished' });
    // Of the asked and eleven margins, one is planned for ever.
    const timed = fakeTools({
      plans: async (problems) =>
        problems.map(
          (one, i) => (i === 3 ? { ...infeasible, limit: 'interrupted' } : fakeOutcome(one)) as PooledOutcome,
        ),
    });
    expect(await searchHeld(fakeProblem(), TARGET, timed.tools)).toMatchObject({
      status: 'held',
      isCut: true,
    });
  });

  it('refuses a share that no runs could confirm', async () => {
    const { tools } = fakeTools();
    const outcome = await searchHeld(fakeProblem(), { ...TARGET, attainment: [0.999999] }, tools);
    if (outcome.status !== 'unconfirmable') throw new Error(outcome.status);
    expect(outcome.most[0]).toBeGreaterThan(0.99);
    expect(outcome.most[0]).toBeLessThan(0.999999);
  });
});

describe('A search for the cheapest plan that holds a rate', () => {
  it('finds as few GPUs as hold it', async () => {
    // A GPU holds 7.5 requests/s at a margin of a quarter, and less at any other.
    for (const [rps, gpus] of [
      [30, 4],
      [31, 5],
      [60, 8],
    ] as const) {
      const { tools } = fakeTools();
      const outcome = await searchHeld(fakeProblem(rps), TARGET, tools);
      if (outcome.status !== 'held') throw new Error(outcome.status);
      expect(outcome.plan.objective.value, `${rps} requests/s`).toBe(gpus);
      expect(heldBy(outcome.plan)).toBeGreaterThanOrEqual(rps);
      expect(outcome.plan.models[0]).toMatchObject({ rps, heldRps: rps });
      expect(outcome.plan.hold!.value).toBe(gpus);
      expect(outcome.plan.hold!.bound).toBeCloseTo((0.9 * rps) / 10, 9);
    }
  });

  it('says how near it came where no plan holds the rate', async () => {
    const { tools } = fakeTools();
    const outcome = await searchHeld(fakeProblem(80), TARGET, tools);
    expect(outcome).toMatchObject({ status: 'not-held', isCut: false, judgedBy: expect.any(String) });
    if (outcome.status !== 'not-held') throw new Error(outcome.status);
    // Ten GPUs hold 75 requests/s at most, and those that plan 80 leave a margin of a fifth: 72.
    expect(outcome.heldShare).toBeCloseTo(outcome.heldRps[0]! / 80, 9);
    expect(outcome.heldShare).toBeGreaterThanOrEqual(0.89);
    expect(outcome.heldShare).toBeLessThanOrEqual(0.95);
  });

  it('has no plan where none serves the rate', async () => {
    const { tools } = fakeTools();
    expect(await searchHeld(fakeProblem(120), TARGET, tools)).toMatchObject({
      status: 'no-plan',
      outcome: { status: 'infeasible' },
    });
    const asked: (number | undefined)[] = [];
    const plans = async (problems: readonly PooledProblem[]) => {
      for (const { models } of problems) asked.push(models[0]!.rps);
      return problems.map(fakeOutcome);
    };
    await searchHeld(fakeProblem(120), TARGET, fakeTools({ plans }).tools);
    await searchHeld(fakeProblem(105), TARGET, fakeTools({ plans }).tools);
    // Where nine tenths are too much, a plan of these is asked for, and else one of all.
    expect(asked).toEqual([108, 105]);
    const over = fakeTools({ plans: async () => [] });
    expect(await searchHeld(fakeProblem(120), TARGET, over.tools)).toEqual({ status: 'unfinished' });
    // Nine tenths of 105 are 94.5, which the GPUs serve, but no plan is made for 105.
    expect(await searchHeld(fakeProblem(105), TARGET, tools)).toMatchObject({ status: 'no-plan' });
  });

  it('is cut short where its time is over', async () => {
    let asked = 0;
    const { tools } = fakeTools({ isOver: () => ++asked > 2 });
    const outcome = await searchHeld(fakeProblem(30), TARGET, tools);
    expect(outcome.status === 'unfinished' || ('isCut' in outcome && outcome.isCut)).toBe(true);
  });
});

describe('Settings of a problem', () => {
  it('change the margin, the batches, the weight and the rate of each model', () => {
    const latencies = { 1: { 1: 1, 2: 2, 4: 4 } };
    const device = { blockLatencyUs: latencies, layerLatencyUs: latencies };
    const problem = fakeProblem(50);
    const [model] = problem.models as [ProblemModel];
    const spec = { sloMarginMs: 3, name: 'm' };
    const asked = { ...problem, models: [{ ...model, spec, profile: { devices: { A: device } } }] } as never;
    expect(settingsAsked(asked)).toEqual([{ sloMargin: 0.1, batchFormation: 'none', headroom: 1 }]);
    const [changed] = withSettings(asked, [
      { sloMargin: 0.2, batchFormation: 'greedy' as never, headroom: 1.5, mostBatch: 2 },
    ]).models;
    expect(changed).toMatchObject({ sloMarginUs: 20_000, batchFormation: 'greedy', weight: 1.5, rps: 75 });
    expect(changed!.spec).toEqual({ name: 'm', sloMargin: 0.2 });
    const kept = { 1: { 1: 1, 2: 2 } };
    expect(changed!.profile.devices).toEqual({ A: { blockLatencyUs: kept, layerLatencyUs: kept } });
    const [free] = withSettings(asked, [{ sloMargin: 0, batchFormation: 'none', headroom: 1 }]).models;
    expect(free!.profile.devices).toEqual({ A: device });
  });

  it('are refused with a plan that beats the bound of all plans', () => {
    const outcome = fakeOutcome(fakeProblem());
    if (!('plan' in outcome)) throw new Error(outcome.status);
    expect(asAsked(outcome.plan, fakeProblem(), 90)).toMatchObject({
      status: 'optimal',
      objective: { gap: 0, bound: 90 },
    });
    expect(asAsked(outcome.plan, fakeProblem(), 90 / (1 + 9e-7))).toMatchObject({
      objective: { gap: 0, bound: 90 },
    });
    expect(() => asAsked(outcome.plan, fakeProblem(), 89)).toThrow(
      'a plan of 90 beats the bound 89 of all plans',
    );
    expect(asAsked(outcome.plan, fakeProblem(), 99)).toMatchObject({
      status: 'feasible',
      objective: { value: 90, bound: 99, gap: expect.closeTo(0.1, 9) },
    });
    const priced = fakeOutcome(fakeProblem(45));
    if (!('plan' in priced)) throw new Error(priced.status);
    expect(asAsked(priced.plan, fakeProblem(45), 4)).toMatchObject({
      objective: { value: 5, bound: 4, gap: 0.25 },
      models: [{ rps: 45 }],
    });
    expect(() => asAsked(priced.plan, fakeProblem(45), 6)).toThrow('beats the bound');
  });
});

describe('The value of what a plan holds', () => {
  it('is its least rate per weight, or its price where it holds its rates', () => {
    const two = (rps?: number) => {
      const problem = fakeProblem(rps);
      const [model] = problem.models as [ProblemModel];
      return {
        ...problem,
        models: [model, { ...model, weight: 2 }, { ...model, weight: 0, rps: 0 }],
      } as PooledProblem;
    };
    const plan = { objective: { value: 7 } } as PlanBody;
    expect(heldValue(two(), plan, [10, 18, 1])).toBe(9);
    expect(leastPerWeight(two().models, [10, 24, 1])).toBe(10);
    expect(heldValue(two(10), plan, [10, 10, 0])).toBe(-7);
    expect(heldValue(two(10), plan, [10, 9.99, 0])).toBe(Number.NEGATIVE_INFINITY);
    expect(askedShare(two(10), [9, 12, 0])).toBe(0.9);
    expect(heldShareOf([12, 11], [10, 10])).toBe(1);
    expect(heldShareOf([5], [10, 10])).toBe(0);
    expect(heldShareOf([5], [10])).toBe(0.5);
  });
});
