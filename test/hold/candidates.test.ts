import { describe, expect, it } from 'vitest';
import { Candidates, MARGINS } from '../../src/hold/candidates.js';
import { type ModelSetting, withSettings } from '../../src/hold/settings.js';
import type { HoldTrial } from '../../src/hold/trial.js';
import type { PooledProblem, ProblemModel } from '../../src/milp/index.js';
import { fakeProblem } from './fake-planner.js';

const ASKED: ModelSetting = { sloMargin: 0.1, batchFormation: 'none', headroom: 1 };

/** By the bound, a plan serves 100 requests/s less the margin, per unit of weight; priced, it costs the rate over that. */
function candidatesOf(problem: PooledProblem) {
  const asked: number[] = [];
  const candidates = new Candidates(problem, async (problems) => {
    asked.push(problems.length);
    return problems.map(({ models }) => {
      const values = models.map(({ sloMarginUs, sloUs, weight, rps }: ProblemModel) => {
        const served = 100 * (1 - sloMarginUs / sloUs);
        return rps === undefined ? served / weight : rps / served;
      });
      return models[0]!.rps === undefined ? Math.min(...values) : values.reduce((sum, one) => sum + one, 0);
    });
  });
  return { candidates, asked };
}

function trialOf(heldRps: number[], value: number, ...settings: readonly ModelSetting[]): HoldTrial {
  const models = heldRps.map(() => ({ throughputRps: 100 }));
  return { settings, heldRps, value, outcome: { status: 'optimal', plan: { models } } as never };
}

const two = (rps?: number): PooledProblem => {
  const problem = fakeProblem(rps);
  return { ...problem, models: [problem.models[0]!, problem.models[0]!] };
};

/** Settings as text, with the value that is predicted of them. */
const told = (found: Awaited<ReturnType<Candidates['next']>>) =>
  Object.fromEntries(
    found.map(({ settings, predicted }) => [
      settings
        .map(({ sloMargin, headroom, mostBatch, batchFormation }) =>
          [
            sloMargin,
            headroom,
            ...(mostBatch === undefined ? [] : [mostBatch]),
            ...(batchFormation === 'none' ? [] : ['formed']),
          ].join(' '),
        )
        .join('; '),
      Number(predicted.toFixed(6)),
    ]),
  );

describe('The settings that are tried first', () => {
  it('are those of the problem, and each margin for all models', () => {
    const first = candidatesOf(two()).candidates.first();
    expect(first[0]).toEqual({ settings: [ASKED, ASKED], predicted: 0 });
    expect(first.slice(1).map(({ settings }) => settings.map(({ sloMargin }) => sloMargin))).toEqual(
      MARGINS.map((margin) => [margin, margin]),
    );
  });
});

describe('The settings that are tried next', () => {
  it('are those that are predicted to be better, best first, by the shares that were held', async () => {
    const { candidates } = candidatesOf(fakeProblem());
    const at = (sloMargin: number, held: number) => trialOf([held], held, { ...ASKED, sloMargin });
    const best = at(0.3, 60);
    candidates.learn(at(0.1, 50));
    candidates.learn(best);
    // Half of the rate was held at a tenth: twice the rate is too much at once, and half more is planned for.
    // Other margins may hold as much of it as the best one, three fifths.
    const next = told(await candidates.next(best));
    expect(next).toEqual(
      Object.fromEntries(
        [...[0, 0.05].map((margin) => [`${margin} 1.5`, (100 * (1 - margin)) / 1.5])].map(([key, value]) => [
          key,
          Number((value as number).toFixed(6)),
        ]),
      ),
    );
    expect(Object.keys(next)).toEqual(['0 1.5', '0.05 1.5']);
  });

  it('have the headroom that the same choice lacked, on average, and no more than half more than before', async () => {
    const { candidates } = candidatesOf(fakeProblem());
    const choice = { ...ASKED, sloMargin: 0 };
    candidates.learn(trialOf([50], 50, choice));
    candidates.learn(trialOf([100], 50, choice));
    const headroom = async () => {
      const found = await candidates.next(trialOf([10], 10, { ...ASKED, sloMargin: 0.5 }));
      return found.find(({ settings }) => settings[0]!.sloMargin === 0)!.settings[0]!.headroom;
    };
    expect(await headroom()).toBe(1.3333);
    candidates.learn(trialOf([5], 5, { ...choice, headroom: 1.3 }));
    // It held two fifths: 2.5 is more than half more than 1.3.
    expect(await headroom()).toBe(1.95);
    candidates.learn(trialOf([300], 300, { ...choice, headroom: 1.2 }));
    candidates.learn(trialOf([300], 300, { ...choice, headroom: 1.2 }));
    // No more than all of a rate is held: 0.4, 0.7 and 0.85.
    expect(await headroom()).toBe(1.1765);
  });

  it('learn nothing of a model that is not planned', async () => {
    const { candidates } = candidatesOf(fakeProblem());
    const unplanned = trialOf([0], 0, ASKED);
    candidates.learn({ ...unplanned, outcome: { plan: { models: [{ throughputRps: 0 }] } } as never });
    const next = await candidates.next(unplanned);
    expect(next[0]!.settings).toEqual([{ ...ASKED, sloMargin: 0 }]);
    expect(next.every(({ settings }) => settings[0]!.headroom === 1)).toBe(true);
  });

  it('come once, are not given again once they were tried, and are worth it', async () => {
    const { candidates } = candidatesOf(fakeProblem());
    const best = trialOf([92], 92, { ...ASKED, sloMargin: 0.08 });
    // Without a share, each margin is predicted to hold all: 92 and more than 0.2 % more are those below 0.0782.
    const next = await candidates.next(best);
    expect(told(next)).toEqual({ '0 1': 100, '0.05 1': 95, '0.065 1': 93.5 });
    for (const one of next.slice(0, 2)) candidates.exclude(one);
    expect(told(await candidates.next(best))).toEqual({ '0.065 1': 93.5 });
    const nearly = trialOf([99.9], 99.9, { ...ASKED, sloMargin: 0.001 });
    expect(await candidates.next(nearly)).toEqual([]);
  });

  it('begin anywhere where nothing holds the rates yet', async () => {
    const { candidates } = candidatesOf(fakeProblem(30));
    const none = trialOf([20], Number.NEGATIVE_INFINITY, ASKED);
    const next = await candidates.next(none);
    // A lower price is better: the margin that withholds least comes first.
    expect(next[0]).toEqual({ settings: [{ ...ASKED, sloMargin: 0 }], predicted: -0.3 });
    expect(next.length).toBe(MARGINS.length + 4);
    expect(next.map(({ predicted }) => predicted)).toEqual(
      next.map(({ predicted }) => predicted).toSorted((a, b) => b - a),
    );
    const nobody = await candidates.next(undefined);
    expect(nobody.length).toBe(next.length);
    const priced = await candidates.next({ ...none, value: -0.32 });
    // Settings that cost 0.2 % less than 0.32.
    expect(told(priced)).toEqual({ '0 1': -0.3, '0.05 1': -0.315789 });
  });

  it('change one model after another to what is predicted best', async () => {
    const { candidates } = candidatesOf(two(30));
    const from = trialOf([90, 90], -1, ASKED, ASKED);
    const [small, large] = [
      { ...ASKED, sloMargin: 0.01, mostBatch: 2 },
      { ...ASKED, sloMargin: 0.02, mostBatch: 4 },
    ];
    candidates.learn(from);
    candidates.learn(trialOf([100, 100], -1, small, large));
    candidates.learn(trialOf([100, 100], -1, { ...ASKED, sloMargin: 0.015 }, { ...ASKED, sloMargin: 0.025 }));
    const next = told(await candidates.next(from));
    expect(next['0.01 1 2; 0.02 1 4']).toBeCloseTo(-30 / 99 - 30 / 98, 6);
    // A single change leaves the other model as it is, which held nine tenths of its rate.
    expect(next['0.01 1 2; 0.1 1.1111']).toBeCloseTo(-30 / 99 - (1.1111 * 30) / 90, 6);
    expect(next).not.toHaveProperty('0.015 1; 0.02 1 4');
  });

  it('are of other batches too', async () => {
    const problem = fakeProblem();
    const blockLatencyUs = { 1: { 1: [1], 2: [2], 4: [4] }, 2: { 8: [8] } };
    const profile = {
      devices: { A: { blockLatencyUs }, B: { blockLatencyUs: { 1: { 64: [1] } } } },
    } as never;
    const model = { ...problem.models[0]!, classes: ['A', 'C'], profile };
    const withProfile = { ...problem, models: [model] };
    const limited: ModelSetting = { ...ASKED, sloMargin: 0.2, mostBatch: 2 };
    const bounds = async (problems: readonly PooledProblem[]) =>
      problems.map(({ models }) => {
        const { blockLatencyUs: kept } = models[0]!.profile.devices.A!;
        const isFormed = models[0]!.batchFormation !== 'none';
        return Object.keys(kept[1]!).length === 2 && !isFormed ? 0 : 1;
      });
    const free = new Candidates(withProfile, bounds);
    const none = trialOf([0], -1, limited);
    const batches = (await free.next(none)).map(({ settings }) => settings[0]!.mostBatch);
    expect([...new Set(batches)].sort()).toEqual([1, 4, undefined]);
    // The largest batch is no limit.
    expect(batches.filter((batch) => batch === undefined).length).toBe(1);
    const formed = {
      ...withProfile,
      models: [{ ...model, batchFormation: { factor: 2, estimatedRps: 5 } as never }],
    };
    const kinds = (await new Candidates(formed, bounds).next(none)).map(({ settings }) =>
      JSON.stringify(settings[0]!.batchFormation),
    );
    expect([...new Set(kinds)].sort()).toEqual(['"none"', '{"factor":2,"estimatedRps":5}']);
    expect(withSettings(formed, [limited]).models[0]!.batchFormation).toBe('none');
  });
});
