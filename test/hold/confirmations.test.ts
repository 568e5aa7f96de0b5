import { describe, expect, it } from 'vitest';
import { CheaperPlans } from '../../src/hold/cheaper.js';
import { confirmedPrice } from '../../src/hold/confirmed-price.js';
import { confirmedRates } from '../../src/hold/confirmed-rates.js';
import type { HeldRates, HoldProgress, HoldTools, RatedPlan } from '../../src/hold/index.js';
import { PriceConfirmation } from '../../src/hold/price.js';
import { comparedOf, Ranking } from '../../src/hold/ranking.js';
import { promiseSeeds } from '../../src/hold/runs.js';
import { type ModelSetting, withSettings } from '../../src/hold/settings.js';
import { type FoundOutcome, type HoldTrial, isTimed } from '../../src/hold/trial.js';
import type { PlanBody, PooledProblem } from '../../src/milp/index.js';
import { fakeOutcome, fakeProblem, fakeTools, heldBy, madeBy } from './fake-planner.js';

const ASKED: ModelSetting = { sloMargin: 0.1, batchFormation: 'none', headroom: 1 };
const MOST = fakeProblem();

/** trialOf is the plan that the fake planner makes by a margin and a headroom, which held a rate. */
function trialOf(problem: PooledProblem, margin: number, held: number, headroom = 1): HoldTrial {
  const settings = [{ ...ASKED, sloMargin: margin, headroom }];
  const outcome = fakeOutcome(withSettings(problem, settings));
  if (!('plan' in outcome)) throw new Error('there is no such plan');
  const { rps } = problem.models[0]!;
  const value =
    rps === undefined ? held : held >= rps ? -outcome.plan.objective.value : Number.NEGATIVE_INFINITY;
  return { settings, outcome: outcome as FoundOutcome, heldRps: [held], value };
}

type Rate = (plan: PlanBody, asked: RatedPlan) => number | undefined;

/** Tools that ask what plans hold in the ranking and in the promise, and note what they were asked. */
function toolsOf(rates: { readonly ranked?: Rate; readonly promised?: Rate }, more: Partial<HoldTools> = {}) {
  const asked: string[] = [];
  const progress: HoldProgress[] = [];
  const by =
    (phase: 'ranked' | 'promised') =>
    async (plan: RatedPlan, seeds?: readonly number[]): Promise<HeldRates | undefined> => {
      const { margin, gpus } = madeBy(plan.plan);
      const more = [
        plan.leastRps && `least ${plan.leastRps}`,
        plan.enoughRps && `enough ${plan.enoughRps}`,
        seeds?.[0],
      ];
      asked.push(
        [phase, margin, gpus, `from ${plan.startRps}`, ...more.filter((one) => one !== undefined)].join(' '),
      );
      const rps = (rates[phase] ?? heldBy)(plan.plan, plan);
      return rps === undefined ? undefined : { heldRps: [rps], attainment: [], requests: 1 };
    };
  const { tools } = fakeTools({
    bounds: async (problems) => problems.map(() => undefined),
    ranked: by('ranked'),
    promised: by('promised'),
    onProgress: (told) => progress.push(told),
    ...more,
  });
  return { tools, asked, progress };
}

const by =
  (rates: Readonly<Record<number, number>>): Rate =>
  (plan) =>
    rates[madeBy(plan).margin];

describe('comparedOf()', () => {
  it('gives at most six trials that are close to the best, best first, and one of a single margin', () => {
    const other = (held: number) => trialOf(MOST, 0.2, held, 1.1);
    const close = [95, 98, 100, 99].map(other);
    expect(comparedOf(close).map(({ value }) => value)).toEqual([100, 99, 98]);
    const single = trialOf(MOST, 0.3, 50);
    expect(comparedOf([single, ...close]).map(({ value }) => value)).toEqual([100, 99, 98, 50]);
    const near = trialOf(MOST, 0.3, 98.5);
    expect(comparedOf([single, near, ...close]).map(({ value }) => value)).toEqual([100, 99, 98.5, 98]);
    expect(comparedOf(Array.from({ length: 9 }, () => other(100))).length).toBe(6);
    expect(comparedOf([trialOf(MOST, 0.3, 0), other(0)])).toEqual([]);
    expect(comparedOf([])).toEqual([]);
  });
});

describe('Ranking', () => {
  it('asks each plan for a little more than the best before it, and gives what holds most', async () => {
    const { tools, asked, progress } = toolsOf({ ranked: by({ 0.1: 80, 0.2: 90, 0.3: 70 }) });
    const trials = [trialOf(MOST, 0.1, 100), trialOf(MOST, 0.2, 99), trialOf(MOST, 0.3, 98)];
    const ranking = new Ranking(MOST, tools);
    expect(await ranking.mostHeld(trials)).toEqual({
      trial: trials[1],
      heldRps: [90],
      value: 90,
      moves: { variants: 0, moved: 0 },
    });
    expect(asked).toEqual([
      'ranked 0.1 10 from 100',
      `ranked 0.2 10 from 99 least ${1.001 * 80}`,
      `ranked 0.3 10 from 98 least ${1.001 * 90}`,
    ]);
    expect(progress).toEqual([
      { phase: 'ranking', done: 0, of: 3 },
      { phase: 'ranking', done: 1, of: 3, value: 80 },
      { phase: 'ranking', done: 2, of: 3, value: 90 },
    ]);
    expect(ranking.isCut).toBe(false);
  });

  it('ends with what is enough, or where its time is over, and has nothing of no plans', async () => {
    const trials = [trialOf(MOST, 0.1, 100), trialOf(MOST, 0.2, 99)];
    const enough = toolsOf({ ranked: by({ 0.1: 80, 0.2: 90 }) });
    expect(await new Ranking(MOST, enough.tools, 80).mostHeld(trials)).toMatchObject({ value: 80 });
    expect(enough.asked.length).toBe(1);
    const late = new Ranking(MOST, toolsOf({ ranked: by({ 0.1: 80 }) }).tools);
    expect(await late.mostHeld(trials)).toMatchObject({ value: 80, heldRps: [80] });
    expect(late.isCut).toBe(true);
    const never = new Ranking(MOST, toolsOf({ ranked: by({}) }).tools);
    expect(await never.mostHeld(trials)).toEqual({ trial: trials[0], heldRps: [100] });
    expect(never.isCut).toBe(true);
    expect(await never.mostHeld([])).toBe(undefined);
    const nothing = toolsOf({ ranked: by({ 0.1: 0, 0.2: 0 }) });
    // Plans that hold nothing are not polished.
    expect(await new Ranking(MOST, nothing.tools).mostHeld(trials)).toEqual({
      trial: trials[0],
      heldRps: [0],
      value: 0,
    });
  });
});

describe('confirmedRates()', () => {
  const mixed = trialOf(MOST, 0.1, 100, 1.1);
  const single = trialOf(MOST, 0.2, 99);

  it('confirms what holds most by seeds that nothing was chosen by', async () => {
    const { tools, asked, progress } = toolsOf({
      ranked: by({ 0.1: 90, 0.2: 80 }),
      promised: by({ 0.1: 88 }),
    });
    const { confirmed, ...rest } = await confirmedRates(MOST, [single, mixed], tools);
    expect(confirmed).toEqual({
      ...mixed,
      rates: { heldRps: [88], attainment: [], requests: 1 },
      seeds: promiseSeeds(0),
      value: 88,
      moves: { variants: 0, moved: 0 },
    });
    expect(rest).toEqual({ isCut: false, isUnconfirmed: false, simulated: 0 });
    // The plan of one margin held more when it was tried, so that it is asked once more for all that it holds.
    expect(asked).toEqual([
      'ranked 0.1 10 from 100',
      `ranked 0.2 10 from 99 least ${1.001 * 90}`,
      'promised 0.1 10 from 90 201',
      'ranked 0.2 10 from 99',
    ]);
    expect(progress.map(({ phase, done }) => `${phase} ${done}`)).toEqual([
      'ranking 0',
      'ranking 1',
      'confirming 0',
      'ranking 0',
    ]);
  });

  it('promises the plan of one margin where that holds more by both', async () => {
    const ranked =
      (ofSingle: number): Rate =>
      (plan, { leastRps }) =>
        madeBy(plan).margin === 0.1 ? 90 : leastRps === undefined ? ofSingle : 0;
    const promisedBy = async (
      ofSingle: number,
      promised: Record<number, number>,
      more: Partial<HoldTools> = {},
    ) => {
      const { tools, asked } = toolsOf({ ranked: ranked(ofSingle), promised: by(promised) }, more);
      const { confirmed, isCut } = await confirmedRates(MOST, [single, mixed], tools);
      return { value: confirmed?.value, isCut, asked: asked.length, moves: confirmed?.moves };
    };
    const moves = { variants: 0, moved: 0 };
    expect(await promisedBy(85, { 0.1: 84, 0.2: 86 })).toEqual({ value: 86, isCut: false, asked: 5, moves });
    expect(await promisedBy(85, { 0.1: 84, 0.2: 83 })).toEqual({ value: 84, isCut: false, asked: 5, moves });
    // By the ranking seeds it is no better.
    expect(await promisedBy(84, { 0.1: 84, 0.2: 99 })).toEqual({ value: 84, isCut: false, asked: 4, moves });
    expect(await promisedBy(85, { 0.1: 84 })).toMatchObject({ value: 84, isCut: true, asked: 5 });
    const over = { isOver: () => true };
    expect(await promisedBy(85, { 0.1: 84, 0.2: 86 }, over)).toMatchObject({
      value: 84,
      isCut: true,
      asked: 3,
    });
  });

  it('leaves out plans of one margin that are far from the best, and others', async () => {
    const asks = async (trials: readonly HoldTrial[], promised: number) => {
      const { tools, asked } = toolsOf({
        ranked: by({ 0.1: 90, 0.2: 70, 0.3: 70 }),
        promised: () => promised,
      });
      await confirmedRates(MOST, trials, tools);
      return asked.length;
    };
    const far = trialOf(MOST, 0.2, 80);
    expect(await asks([mixed, far], 85)).toBe(3);
    expect(await asks([mixed, far], 81)).toBe(4);
    expect(await asks([mixed, trialOf(MOST, 0.3, 99, 1.2)], 81)).toBe(3);
    expect(await asks([trialOf(MOST, 0.1, 100)], 81)).toBe(2);
  });

  it('has nothing where there is nothing, nothing is held, or the time is over', async () => {
    const none = { confirmed: undefined, isCut: false, isUnconfirmed: false, simulated: 0 };
    expect(await confirmedRates(MOST, [], toolsOf({}).tools)).toEqual(none);
    expect(await confirmedRates(MOST, [mixed], toolsOf({ promised: () => 0 }).tools)).toEqual(none);
    expect(await confirmedRates(MOST, [mixed], toolsOf({ promised: by({}) }).tools)).toEqual({
      ...none,
      isCut: true,
      isUnconfirmed: true,
    });
    const late: Rate = (_, { leastRps, startRps }) =>
      leastRps === undefined && startRps[0] === 99 ? undefined : 50;
    const unranked = toolsOf({ ranked: late, promised: () => 40 });
    const { confirmed, isCut } = await confirmedRates(MOST, [mixed, single], unranked.tools);
    expect([confirmed?.value, isCut]).toEqual([40, true]);
  });
});

describe('CheaperPlans', () => {
  /** Every plan of another margin and headroom that costs less than eight GPUs, by what is served of 30 requests/s. */
  function cheaperPlans(problem: PooledProblem) {
    const margins = [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5];
    const found = new Map<string, number>();
    for (const sloMargin of margins)
      for (const headroom of [1, 1.02, 1.05, 1.1, 1.15, 1.2, 1.3]) {
        const outcome = fakeOutcome(withSettings(problem, [{ ...ASKED, sloMargin, headroom }]));
        if (!('plan' in outcome) || outcome.plan.objective.value >= 6) continue;
        found.set(`${sloMargin} ${outcome.plan.objective.value}`, outcome.plan.models[0]!.throughputRps);
      }
    return found;
  }

  it('simulates what costs less, first what leaves most room, each plan once', async () => {
    const problem = fakeProblem(30);
    const from = trialOf(problem, 0.1, 20, 1.7);
    expect(from.outcome.plan.objective.value).toBe(6);
    const { tools, asked, progress } = toolsOf({ ranked: () => 29 }, { bounds: fakeTools().tools.bounds });
    const plans = new CheaperPlans(problem, {
      ...tools,
      plans: async (settings) =>
        (await tools.plans(settings.map((one) => withSettings(problem, one)))) as FoundOutcome[],
    });
    expect(await plans.next(from)).toBe(undefined);
    const wanted = [...cheaperPlans(problem)].sort(([, a], [, b]) => b - a);
    expect(wanted.length).toBeGreaterThan(12);
    expect(wanted.length).toBeLessThanOrEqual(24);
    const served = new Map(wanted);
    const order = asked.map((one) => one.split(' ').slice(1, 3).join(' '));
    expect(order.toSorted()).toEqual(wanted.map(([key]) => key).toSorted());
    expect(order.map((key) => served.get(key))).toEqual(wanted.map(([, rps]) => rps));
    expect(asked[0]).toMatch(/from 30 least 30 enough 30$/);
    expect(progress[0]).toEqual({ phase: 'lowering', done: 0, of: 24, value: 6 });
    expect(progress.at(-1)).toEqual({ phase: 'lowering', done: wanted.length - 1, of: 24, value: 6 });
    // Nothing is left of them, and none is simulated again for another plan.
    expect(await plans.next(from)).toBe(undefined);
    expect(await plans.next({ ...from })).toBe(undefined);
    expect(asked.length).toBe(wanted.length);
    expect(plans.isCut).toBe(false);
  });

  it('goes on behind the plan that it found, and ends where the time is over', async () => {
    const problem = fakeProblem(30);
    const from = trialOf(problem, 0.1, 20, 1.7);
    const cheaperBy = (ranked: Rate, more: Partial<HoldTools> = {}) => {
      const { tools, asked } = toolsOf({ ranked }, { bounds: fakeTools().tools.bounds, ...more });
      const plans = new CheaperPlans(problem, {
        ...tools,
        plans: async (settings) =>
          (await tools.plans(settings.map((one) => withSettings(problem, one)))) as FoundOutcome[],
      });
      return { plans, asked };
    };
    const { plans, asked } = cheaperBy(() => 30);
    const first = await plans.next(from);
    const second = await plans.next(from);
    expect(madeBy(first!.outcome.plan)).toEqual({ margin: 0.05, gpus: 5 });
    expect([asked.length, second === first]).toEqual([2, false]);
    const late = cheaperBy(by({}));
    expect(await late.plans.next(from)).toBe(undefined);
    expect(late.plans.isCut).toBe(true);
    const over = cheaperBy(() => 30, { isOver: () => true });
    expect(await over.plans.next(from)).toBe(undefined);
    expect([over.plans.isCut, over.asked.length]).toEqual([true, 0]);
    const unpromising = cheaperBy(() => 30, { bounds: async (problems) => problems.map(() => 6) });
    expect(await unpromising.plans.next(from)).toBe(undefined);
    expect([unpromising.plans.isCut, unpromising.asked.length]).toEqual([false, 0]);
  });
});

describe('PriceConfirmation', () => {
  const problem = fakeProblem(30);

  it('judges a plan that holds by new seeds, and gives the cheapest of several', async () => {
    const { tools, asked, progress } = toolsOf({ ranked: heldBy, promised: heldBy });
    const confirmation = new PriceConfirmation(problem, tools);
    const trials = [
      trialOf(problem, 0.2, 30, 1.3),
      trialOf(problem, 0.25, 30),
      trialOf(problem, 0.25, 30, 1.2),
    ];
    const confirmed = await confirmation.cheapest(trials);
    expect(confirmed).toEqual({
      settings: trials[1]!.settings,
      outcome: trials[1]!.outcome,
      heldRps: [30],
      rates: { heldRps: [30], attainment: [], requests: 1 },
      seeds: promiseSeeds(1),
      value: -4,
    });
    // The third costs more than the second, so that it is not ranked.
    expect(asked).toEqual([
      'ranked 0.2 5 from 30 enough 30',
      'promised 0.2 5 from 30 201',
      'ranked 0.25 4 from 30 enough 30',
      `promised 0.25 4 from 30 ${promiseSeeds(1)[0]}`,
    ]);
    expect(
      progress.filter(({ phase }) => phase !== 'lowering').map(({ phase, done }) => `${phase} ${done}`),
    ).toEqual(['ranking 0', 'confirming 0', 'ranking 1', 'confirming 1']);
    expect(confirmation).toMatchObject({ isCut: false, closestRps: undefined });
  });

  it('raises the headroom of what lacks a little, until the plan holds', async () => {
    // Four GPUs hold 36 · 0.7 of 30: 1.01 times what they lack needs 36.07 requests/s, which take five.
    const { tools } = toolsOf({ ranked: heldBy, promised: heldBy });
    const confirmation = new PriceConfirmation(problem, tools);
    const confirmed = await confirmation.cheapest([trialOf(problem, 0.1, 25)]);
    expect(madeBy(confirmed!.outcome.plan)).toEqual({ margin: 0.1, gpus: 5 });
    expect(confirmed!.settings[0]!.headroom).toBeCloseTo((1.01 * 30) / 25.2, 12);
    expect(confirmation.closestRps).toEqual([expect.closeTo(25.2, 9)]);
  });

  it('raises a plan further that fails the promise, and judges four at most', async () => {
    const failing = toolsOf({ ranked: () => 30, promised: (plan) => 29 + 0.01 * madeBy(plan).gpus });
    const confirmation = new PriceConfirmation(problem, failing.tools);
    expect(await confirmation.cheapest([trialOf(problem, 0, 30)])).toBe(undefined);
    const promised = failing.asked.filter((one) => one.startsWith('promised'));
    expect(promised.map((one) => one.split(' ')[2])).toEqual(['3', '4', '5', '6']);
    expect(promised.map((one) => Number(one.split(' ').at(-1)))).toEqual(
      [0, 1, 2, 3].map((k) => promiseSeeds(k)[0]),
    );
    expect(confirmation.closestRps).toEqual([29.06]);
    const larger = toolsOf({ ranked: () => 30, promised: (plan) => (madeBy(plan).gpus > 4 ? 30 : 29) });
    const held = await new PriceConfirmation(problem, larger.tools).cheapest([trialOf(problem, 0, 30)]);
    expect(madeBy(held!.outcome.plan).gpus).toBe(5);
    // A raise is no use where the plan costs as much as one that holds.
    const two = await new PriceConfirmation(problem, larger.tools).cheapest([
      trialOf(problem, 0.4, 30),
      trialOf(problem, 0, 30),
    ]);
    expect(madeBy(two!.outcome.plan)).toEqual({ margin: 0.4, gpus: 5 });
  });

  it('takes the most headroom that has a plan, by bisections', async () => {
    const asked = fakeProblem(60);
    // Six GPUs hold half, and twice as many are too many: at 1.6375 of the headroom the ten GPUs have a plan.
    const all = toolsOf({ ranked: (plan) => (madeBy(plan).gpus === 10 ? 60 : 30), promised: () => 60 });
    const confirmed = await new PriceConfirmation(asked, all.tools).cheapest([trialOf(asked, 0, 30)]);
    expect(confirmed!.settings[0]!.headroom).toBeCloseTo(1.6375, 9);
    const none = toolsOf({ ranked: () => 30, promised: () => 60 });
    expect(await new PriceConfirmation(asked, none.tools).cheapest([trialOf(asked, 0, 30)])).toBe(undefined);
  });

  it('judges a plan as it is where no time is left to rank it, and has none where none is left to judge it', async () => {
    const unranked = new PriceConfirmation(problem, toolsOf({ ranked: by({}), promised: () => 30 }).tools);
    expect(await unranked.cheapest([trialOf(problem, 0.1, 25)])).toMatchObject({ value: -4 });
    expect(unranked.isCut).toBe(true);
    const unjudged = new PriceConfirmation(problem, toolsOf({ ranked: () => 30, promised: by({}) }).tools);
    expect(await unjudged.cheapest([trialOf(problem, 0.1, 25)])).toBe(undefined);
    expect(unjudged.isCut).toBe(true);
    const unplanned = new PriceConfirmation(
      problem,
      toolsOf({ ranked: () => 20 }, { plans: async () => [] }).tools,
    );
    await expect(unplanned.cheapest([trialOf(problem, 0.1, 25)])).resolves.toBe(undefined);
    expect(unplanned.isCut).toBe(true);
    const timed: HoldTools['plans'] = async (problems) =>
      problems.map((one) => ({ ...fakeOutcome(one), limit: 'time' }) as never);
    const cut = new PriceConfirmation(
      problem,
      toolsOf({ ranked: heldBy, promised: heldBy }, { plans: timed }).tools,
    );
    expect(await cut.cheapest([trialOf(problem, 0.1, 25)])).toBeDefined();
    expect(cut.isCut).toBe(true);
  });

  it('lowers the price of a plan that holds, as far as the seeds of each promise allow', async () => {
    const from = trialOf(problem, 0.1, 30, 1.7);
    const { bounds } = fakeTools().tools;
    const lowered = async (promised: Rate) => {
      const { tools, asked } = toolsOf({ ranked: heldBy, promised }, { bounds });
      const moves = { variants: 3, moved: 2 };
      const found = await new PriceConfirmation(problem, tools).cheapestFrom({ ...from, moves });
      return { found, promised: asked.filter((one) => one.startsWith('promised')) };
    };
    const { found, promised } = await lowered(heldBy);
    // Four GPUs hold 30 requests/s at a margin of a quarter.
    expect(found!.value).toBe(-4);
    expect(found).not.toHaveProperty('moves');
    expect(promised[0]).toBe('promised 0.1 6 from 30 201');
    expect(promised[1]).toMatch(new RegExp(`^promised .* least 30 ${promiseSeeds(1)[0]}$`));
    const kept = await lowered((plan) => (madeBy(plan).gpus < 6 ? 29 : 30));
    expect(kept.found).toMatchObject({ value: -6, moves: { variants: 3, moved: 2 }, seeds: promiseSeeds(0) });
    expect(kept.promised.length).toBe(7);
    expect((await lowered(() => 29)).found).toBe(undefined);
    expect((await lowered(by({}))).found).toBe(undefined);
  });
});

/** onlyOf says of plans of another margin that the time was over. */
const onlyOf =
  (held: HoldTools['held'], margin: number): HoldTools['held'] =>
  async (plans) => {
    const found = await held(plans);
    return found.map((one, i) => (madeBy(plans[i]!.plan).margin === margin ? one : undefined));
  };

describe('confirmedPrice()', () => {
  const problem = fakeProblem(30);
  const target = { attainment: [0.9], arrivals: 'poisson', mostTrials: 8 } as const;
  const confirmedBy = async (
    trials: readonly HoldTrial[],
    rates: Parameters<typeof toolsOf>[0],
    more = {},
  ) => {
    const { tools, asked } = toolsOf(rates, { plans: async () => [], ...more });
    return { found: await confirmedPrice({ problem, target, tools }, trials), asked };
  };
  const rankedIn = (asked: readonly string[]) => [...new Set(asked.map((one) => Number(one.split(' ')[1])))];

  it('begins with the cheapest of three plans that hold, and else with the three that come closest', async () => {
    const holding = [0.3, 0.25, 0.45, 0.4].map((margin) => trialOf(problem, margin, 30));
    const { found, asked } = await confirmedBy([...holding, trialOf(problem, 0, 29)], {
      ranked: () => 30,
      promised: () => 30,
    });
    expect(rankedIn(asked)[0]).toBe(0.25);
    expect(found).toMatchObject({
      confirmed: { value: -4 },
      isCut: false,
      isUnconfirmed: false,
      simulated: 0,
    });
    const trials = [
      trialOf(problem, 0.1, 20),
      trialOf(problem, 0.2, 29),
      trialOf(problem, 0.3, 10),
      trialOf(problem, 0.15, 25),
    ];
    const before = [...trials];
    const failing = await confirmedBy(
      trials,
      { ranked: () => 10, promised: () => 10 },
      { isOver: () => true },
    );
    expect(rankedIn(failing.asked)).toEqual([0.2, 0.15, 0.1]);
    expect(trials).toEqual(before);
    expect(failing.found).toEqual({
      confirmed: undefined,
      isCut: true,
      isUnconfirmed: true,
      simulated: 0,
      closestRps: [10],
    });
  });

  it('goes on from the plan that holds most where no cheap one holds', async () => {
    const { tools: planner } = fakeTools();
    // Ranked by the rates, only the plan of all GPUs at a margin of a quarter holds them.
    const best: Rate = (plan) => {
      const { margin, gpus } = madeBy(plan);
      return gpus === 10 && Math.abs(margin - 0.25) < 0.01 ? 30 : 1;
    };
    const most = async (rates: Parameters<typeof toolsOf>[0], more = {}) =>
      confirmedBy([trialOf(problem, 0.1, 20)], rates, { plans: planner.plans, held: planner.held, ...more });
    const { found } = await most({ ranked: best, promised: best });
    expect(madeBy(found.confirmed!.outcome.plan)).toEqual({ margin: 0.25, gpus: 10 });
    expect(found.confirmed!.settings[0]).toMatchObject({ sloMargin: 0.25, headroom: 2.5 });
    expect(found.confirmed!.moves).toEqual({ variants: 0, moved: 0 });
    expect(found.confirmed!.outcome.plan).toMatchObject({
      objective: { kind: 'cost' },
      models: [{ rps: 30 }],
    });
    expect(found).toMatchObject({ isCut: false, isUnconfirmed: false });
    expect(found.simulated).toBeGreaterThan(0);
    const late = await most({ ranked: best, promised: best }, { held: onlyOf(planner.held, 0.25) });
    expect(late.found).toMatchObject({ confirmed: { moves: { moved: 0 } }, isCut: true });
    const none = await most({ ranked: () => 1, promised: () => 1 });
    expect(none.found).toMatchObject({ confirmed: undefined, isUnconfirmed: false, closestRps: [1] });
  });
});

describe('isTimed()', () => {
  it('says whether a limit or an interruption ended the search of a plan', () => {
    const limits = ['time', 'interrupted', 'work', undefined];
    expect(limits.map((limit) => isTimed((limit === undefined ? {} : { limit }) as never))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});
