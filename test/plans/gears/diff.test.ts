import { describe, expect, it } from 'vitest';
import { emittedHead, parseArtifact } from '../../../src/artifacts/index.js';
import type { Gear, GearPlan, GearStep } from '../../../src/formats/index.js';
import { diffGears, gearFieldChanges } from '../../../src/plans/gears/diff.js';
import { type GivenGears, gearPlan } from '../../gear-plans.js';

const GIVEN: GivenGears = {
  latencyUs: [[1000, 1500], [4000]],
  held: [[0, 1], [0, 1], [1]],
  gears: [
    { toRps: 100, steps: [{ model: 1, shares: [0.2, 0.2, 0.6] }] },
    {
      toRps: 200,
      timeoutMs: 2.5,
      steps: [
        { model: 0, threshold: 0.4, minQueue: 2, shares: [0.5, 0.5] },
        { model: 1, shares: [0, 0, 1] },
      ],
    },
  ],
};

const BEFORE = gearPlan(GIVEN);

/** withStep changes one step of a gear. */
function withStep(gear: Gear, at: number, change: Partial<GearStep>): Gear {
  return { ...gear, cascade: gear.cascade.map((step, i) => (i === at ? { ...step, ...change } : step)) };
}

/** diffWith compares the plan with one that is changed, and checks that the document is valid. */
function diffWith(after: GearPlan, before: GearPlan = BEFORE) {
  const diff = diffGears(before, after);
  parseArtifact(JSON.stringify({ ...emittedHead('plan-diff', []), ...diff }), 'diff', ['plan-diff']);
  return diff;
}

describe('diffGears()', () => {
  it('says that a plan is the same as itself, also where its ranges are cut otherwise', () => {
    const [first, second] = BEFORE.gears as [Gear, Gear];
    const halves = [
      { ...first, toRps: 50 },
      { ...first, fromRps: 50, toRps: 100 * (1 + 1e-12) },
      { ...second, fromRps: 100 * (1 + 1e-12) },
    ];
    for (const after of [BEFORE, { ...BEFORE, gears: halves }])
      expect(diffWith(after)).toMatchObject({ same: true, gears: [], stages: [], classes: [], gpusMoved: 0 });
  });

  it('cuts loads where either plan has a boundary, and reports those that are served by another cascade', () => {
    const [first, second] = GIVEN.gears as [GivenGears['gears'][number], GivenGears['gears'][number]];
    const after = gearPlan({ ...GIVEN, gears: [{ ...first, toRps: 150 }, second] });
    expect(diffWith(after)).toMatchObject({
      same: false,
      gears: [
        {
          fromRps: 100,
          toRps: 150,
          cascade: { before: 'm0 < 0.4 → m1', after: 'm1' },
          batching: { before: '2, 1 or after 2.5 ms', after: '1' },
          // Other models serve, so that their shares say nothing.
          sharesDiffer: false,
        },
      ],
    });
  });

  it('lists no share of a range that is cut in two, where each part has its part', () => {
    const [first, second] = BEFORE.gears as [Gear, Gear];
    const cut = [
      { ...first, toRps: 50, share: first.share / 2 },
      { ...first, fromRps: 50, share: first.share / 2 },
      second,
    ];
    expect(gearFieldChanges(BEFORE, { ...BEFORE, gears: cut })).toEqual([]);
    const uneven = [
      { ...first, toRps: 25, share: first.share / 2 },
      { ...first, fromRps: 25, share: first.share / 2 },
      second,
    ];
    const changes = gearFieldChanges(BEFORE, { ...BEFORE, gears: uneven });
    expect(changes.length).toBeGreaterThan(0);
    expect(changes.every(({ path }) => path.endsWith('/share'))).toBe(true);
  });

  it('has nothing for loads that a plan was not made for', () => {
    const [first] = GIVEN.gears as [GivenGears['gears'][number]];
    const { gears, models, same } = diffWith(gearPlan({ ...GIVEN, gears: [first] }));
    expect(same).toBe(false);
    expect(models[0]?.throughputRps).toEqual({ before: 200, after: 100 });
    expect(gears).toEqual([
      {
        fromRps: 100,
        toRps: 200,
        sharesDiffer: false,
        cascade: { before: 'm0 < 0.4 → m1' },
        batching: { before: '2, 1 or after 2.5 ms' },
        accuracy: { before: 0.5 },
        p95Ms: { before: 1 },
      },
    ]);
  });

  it.each<[string, (gear: Gear) => Gear]>([
    ['a threshold', (gear) => withStep(gear, 0, { threshold: 0.41 })],
    ['a minimum queue', (gear) => withStep(gear, 1, { minQueue: 3 })],
    ['a load share', (gear) => withStep(gear, 0, { loadShares: [0.4, 0.6] })],
    ['a timeout', (gear) => ({ ...gear, timeoutMs: 4 })],
    ['an accuracy', (gear) => ({ ...gear, accuracy: 0.501 })],
  ])('shows a gear that differs in %s', (what, change) => {
    const [first, second] = BEFORE.gears as [Gear, Gear];
    const { gears, same } = diffWith({ ...BEFORE, gears: [first, change(second)] });
    expect(gears).toMatchObject([{ fromRps: 100, toRps: 200, sharesDiffer: what === 'a load share' }]);
    expect(same).toBe(false);
  });

  it('reports devices that hold other models, models with other batches or devices, and classes in use', () => {
    const latencyUs = [[1000], [4000]];
    const after = gearPlan({ ...GIVEN, latencyUs, held: [[0, 1], [0], [1], [1]] });
    expect(diffWith(after)).toMatchObject({
      same: false,
      stages: [{ name: 'm0', batch: { before: 2, after: 1 }, replicas: { before: 2, after: 2 } }],
      classes: [{ name: 'V100', used: { before: 3, after: 4 } }],
      gpusMoved: 2,
    });
  });

  it('reports what is promised and how gears are switched only where that differs', () => {
    const [model] = diffWith(BEFORE).models;
    expect(model).not.toHaveProperty('objectives');
    expect(model).not.toHaveProperty('switching');
    const promised = diffWith({ ...BEFORE, slo: { latencyMs: 1000, quantile: 0.99, accuracy: 0.8 } });
    expect(promised).toMatchObject({
      same: false,
      models: [{ objectives: { before: '95 % in 1000 ms', after: '99 % in 1000 ms, accuracy of 0.8' } }],
    });
    const switched = diffWith({ ...BEFORE, switching: { intervalMs: 100, alpha: 4 } });
    expect(switched).toMatchObject({ same: false, models: [{ switching: expect.anything() }] });
    expect(switched.models[0]?.switching?.after).toBe(
      'certainty top-2, arrivals over 100 ms, alpha 4, scheduler gears',
    );
  });

  it('keeps the values of two kinds of objective apart', () => {
    const after = { ...BEFORE, objective: { kind: 'cost' as const, value: 3, bound: 3, gap: 0 } };
    expect(diffWith(after).objective).toEqual({
      kind: 'cost',
      kindBefore: 'accuracy',
      before: 0.5,
      after: 3,
    });
    expect(diffWith(BEFORE).objective).toEqual({ kind: 'accuracy', before: 0.5, after: 0.5 });
  });
});

describe('gearFieldChanges()', () => {
  const changed = (change: (plan: GearPlan) => void) => {
    const after = structuredClone(BEFORE);
    change(after);
    return gearFieldChanges(BEFORE, after);
  };

  it('lists no field of the same plan, and none that diffGears() shows', () => {
    expect(changed(() => {})).toEqual([]);
    const told = changed((plan) => {
      plan.maxRps *= 2;
      plan.switching.alpha += 1;
      plan.gears[1]!.cascade[0]!.threshold! += 0.1;
    });
    expect(told).toEqual([]);
  });

  it('lists the cluster and the latencies that differ', () => {
    const more = changed((plan) => {
      plan.cluster = { devices: { V100: { count: 4 } } };
    });
    expect(more).toEqual([{ path: '/cluster/devices/V100/count', before: '3', after: '4' }]);
    const slower = changed((plan) => {
      plan.stages[0]!.latencyUsByBatch[1] = 1700;
    });
    expect(slower.map(({ path }) => path)).toEqual([expect.stringContaining('/latencyUsByBatch')]);
  });
});

it('gearFieldChanges() reports in one line that the runs which confirm a promise gave something else', () => {
  const rate = (rps: number, mean: number) => ({
    rps,
    firstSeed: 201,
    requests: 64_000,
    attainment: { mean, least: mean, most: mean, low: mean, high: mean },
  });
  const promised = (means: readonly number[]): GearPlan => ({
    ...BEFORE,
    promise: {
      latencyMs: 50,
      quantile: 0.95,
      arrivals: 'poisson',
      confidence: 0.95,
      runs: 8,
      rates: means.map((mean, i) => rate(10 * (i + 1), mean)),
    },
  });
  const before = promised([0.97, 0.96, 0.99]);
  expect(gearFieldChanges(before, before)).toEqual([]);
  // Of a plan that promises nothing there are no runs to compare.
  for (const [a, b] of [
    [BEFORE, before],
    [before, BEFORE],
  ] as const)
    expect(gearFieldChanges(a, b).map(({ path }) => path)).not.toContain('/promise/rates');
  expect(gearFieldChanges(before, promised([0.97, 0.98, 0.98]))).toEqual([
    {
      path: '/promise/rates',
      before: '3 rates, 96.00 % in time at the worst (2 of 3 differ)',
      after: '3 rates, 97.00 % in time at the worst (2 of 3 differ)',
    },
  ]);
  expect(gearFieldChanges(before, promised([0.97]))).toEqual([
    {
      path: '/promise/rates',
      before: '3 rates, 96.00 % in time at the worst',
      after: '1 rate, 97.00 % in time at the worst',
    },
  ]);
});
