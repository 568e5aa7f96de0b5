import { beforeAll, describe, expect, test } from 'vitest';
import type { DeviceClass, PooledSpec } from '../../../src/formats/index.js';
import { type HighsEngine, loadHighs } from '../../../src/lp/index.js';
import { explainPlan, type PlanOptions, type PooledProblem, planPooled } from '../../../src/milp/index.js';
import { type ModelByHand, ON_A, problemByHand } from '../by-hand.js';

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

function explained(problem: PooledProblem, options: Partial<PlanOptions> = {}) {
  const outcome = planPooled(problem, { highs });
  if (!('plan' in outcome)) throw new Error(outcome.status);
  return explainPlan(problem, outcome.plan, { highs, ...options });
}

function oneModel(
  devices: Record<string, DeviceClass>,
  model: Partial<ModelByHand> = {},
  planner: PooledSpec['planner'] = {},
): PooledProblem {
  const whole = { name: 'm', sloMs: 1.5, latencyUs: ON_A, ...model };
  return problemByHand(devices, [whole], { maxPartitions: 1, ...planner });
}

describe('explainPlan() of a class', () => {
  test('reports what one GPU more or less of a fully used class gives', () => {
    const { complete, classes } = explained(oneModel({ A: { count: 2 } }));
    expect(complete).toBe(true);
    expect(classes).toEqual([
      {
        name: 'A',
        used: 2,
        count: 2,
        binds: true,
        shadowPrice: expect.closeTo(1000, 6),
        oneMore: expect.closeTo(1000, 6),
        oneLess: expect.closeTo(-1000, 6),
        whyUnused: undefined,
      },
    ]);
  });

  test('reports a loss of 0 for a class that is not fully used, and no figure without the last GPU', () => {
    const costs = { count: 3, hourlyCost: 2 };
    const spare = explained(oneModel({ A: costs }, { rps: 1500 }, { objective: 'cost' })).classes[0];
    expect(spare).toMatchObject({ used: 2, count: 3, binds: false, oneLess: 0 });
    expect(spare?.oneMore).toBeCloseTo(0, 9);
    const last = explained(oneModel({ A: { count: 1 } })).classes[0];
    expect(last).toMatchObject({ used: 1, binds: true, oneLess: undefined });
  });

  test('does not call a class binding where all its GPUs are used and one more saves nothing', () => {
    const costs = { count: 2, hourlyCost: 2 };
    const [full] = explained(oneModel({ A: costs }, { rps: 1500 }, { objective: 'cost' })).classes;
    expect(full).toMatchObject({ used: 2, count: 2, binds: false, oneLess: undefined });
    expect(full?.oneMore).toBeCloseTo(0, 9);
  });

  test('never tells a gain from one GPU less, whatever the gap of the search', () => {
    const dear = { A: { count: 1, hourlyCost: 1 }, B: { count: 1, hourlyCost: 5 } };
    const latencyUs = { ...ON_A, B: { 1: { 1: [1000], 2: [1500] } } };
    const { classes } = explained(oneModel(dear, { latencyUs, rps: 900 }, { objective: 'cost' }));
    expect(classes.map(({ name, oneLess }) => [name, oneLess])).toEqual([
      ['A', expect.closeTo(4, 9)],
      ['B', 0],
    ]);
  });
});

describe('explainPlan() says why a class is not used:', () => {
  const why = (b: DeviceClass, model: Partial<ModelByHand> = {}, planner: PooledSpec['planner'] = {}) => {
    const latencyUs = { ...ON_A, B: { 1: { 1: [5000], 2: [6000] } } };
    const a: DeviceClass = { count: 2, hourlyCost: 1 };
    const { classes } = explained(oneModel({ A: a, B: b }, { latencyUs, ...model }, planner));
    expect(classes[0]?.whyUnused).toBeUndefined();
    expect(classes[1]).toMatchObject({ name: 'B', used: 0 });
    return classes[1]?.whyUnused;
  };

  test('the cluster has none of it, or others have taken all', () => {
    expect(why({ count: 0 })).toBe('the cluster has none');
    expect(why({ count: 2, taken: 2 })).toBe('all 2 are taken');
  });

  test('no model may use it', () => {
    expect(why({ count: 1 }, { not: ['B'] })).toBe('m cannot use B: excluded by `not`');
    expect(why({ count: 1 }, { only: ['A'] })).toBe('m cannot use B: left out by `only`');
  });

  test('no model may use it, where the name of another class ends with its name', () => {
    const rows = { 1: { 1: [1000] } };
    const latencyUs = { A: rows, B: rows, 'new B': rows };
    const classes = { A: { count: 2 }, B: { count: 1 }, 'new B': { count: 1 } };
    const told = explained(oneModel(classes, { latencyUs, only: ['A'] })).classes;
    expect(told.map(({ whyUnused }) => whyUnused)).toEqual([
      undefined,
      'm cannot use B: left out by `only`',
      'm cannot use new B: left out by `only`',
    ]);
  });

  test('it is too slow', () => {
    expect(why({ count: 1 })).toBe(
      'no pipeline with it meets an SLO and serves more than the others do without it',
    );
  });

  test('it is too dear', () => {
    const slo = { sloMs: 10, rps: 900 };
    expect(why({ count: 1, hourlyCost: 9 }, slo, { objective: 'cost' })).toBe(
      'others meet the rates at a lower price',
    );
  });
});

describe('explainPlan() of a model', () => {
  test('finds the SLO that the plan needs, and the next larger one with a better value', () => {
    const { models } = explained(oneModel({ A: { count: 2 } }));
    const [model] = models;
    expect(model).toMatchObject({ name: 'm', sloMs: 1.5, slowestMs: 1, tighterValue: undefined });
    expect(model?.allowedMs).toBeCloseTo(1.35, 9);
    expect(model?.tighterSloMs).toBeCloseTo(1 / 0.9, 9);
    // Batches of two need 1.5 ms, which means an SLO of 1.5/0.9 ms. It is found to within 1/200 of the SLO.
    const needed = 1.5 / 0.9;
    expect(model?.looserSloMs).toBeGreaterThanOrEqual(needed);
    expect(model?.looserSloMs).toBeLessThanOrEqual(needed + 0.005 * 1.5);
    expect(model?.looserValue).toBeCloseTo((2 * 2e6) / 1500, 6);
  });

  test('keeps a margin in milliseconds as it is', () => {
    const problem = oneModel({ A: { count: 2 } }, {}, { sloMarginMs: 0.4 });
    const [model] = explained(problem).models;
    expect(model?.allowedMs).toBeCloseTo(1.1, 9);
    expect(model?.tighterSloMs).toBeCloseTo(1.4, 9);
    expect(model?.looserSloMs).toBeGreaterThanOrEqual(1.9);
    expect(model?.looserSloMs).toBeLessThanOrEqual(1.9 + 0.005 * 1.5);
  });

  test("takes a model's own margin before the planner's", () => {
    const own = explained(oneModel({ A: { count: 2 } }, { sloMarginMs: 0.3 })).models[0];
    expect(own?.tighterSloMs).toBeCloseTo(1.3, 9);
    const part = explained(oneModel({ A: { count: 2 } }, { sloMargin: 0.2 }, { sloMarginMs: 0.4 })).models[0];
    expect(part?.tighterSloMs).toBeCloseTo(1 / 0.8, 9);
  });

  test('counts the time that batches take to fill', () => {
    const filling = { factor: 1, estimatedRps: 10_000 };
    const problem = oneModel({ A: { count: 2 } }, { sloMs: 2 }, { batchFormation: filling });
    const [model] = explained(problem).models;
    // A batch of two waits 0.1 ms for its second request and runs 1.5 ms.
    expect(model?.slowestMs).toBeCloseTo(1.6, 9);
    expect(model?.tighterSloMs).toBeCloseTo(1.6 / 0.9, 9);
    // Below that SLO only batches of one remain.
    expect(model?.tighterValue).toBeCloseTo(2000, 6);
    expect(model).toMatchObject({ looserSloMs: undefined, looserValue: undefined });
  });

  test('finds a lower price at a looser SLO', () => {
    const problem = oneModel({ A: { count: 2, hourlyCost: 3 } }, { rps: 1200 }, { objective: 'cost' });
    const [model] = explained(problem).models;
    expect(model?.looserValue).toBeCloseTo(3, 9);
    expect(model?.looserSloMs).toBeGreaterThanOrEqual(1.5 / 0.9);
  });
});

describe('explainPlan() of a model that is not served', () => {
  test('gives no SLO that its pipelines need', () => {
    const models = [
      { name: 'm', sloMs: 1.5, latencyUs: ON_A },
      { name: 'idle', sloMs: 0.5, weight: 0, latencyUs: ON_A },
    ];
    const [, idle] = explained(problemByHand({ A: { count: 2 } }, models, { maxPartitions: 1 })).models;
    expect(idle).toMatchObject({
      name: 'idle',
      slowestMs: 0,
      tighterSloMs: undefined,
      tighterValue: undefined,
      looserSloMs: undefined,
    });
  });
});

describe('explainPlan() when it is interrupted', () => {
  test('returns its results so far, and reports as progress what it looks at', () => {
    const problem = oneModel({ A: { count: 2 } });
    const phases: string[] = [];
    const whole = explained(problem, { onProgress: ({ phase }) => phases.push(phase) });
    expect(whole).toMatchObject({ complete: true });
    expect(phases).toEqual(['explaining A', 'explaining the SLO of m']);
    expect(explained(problem, { interrupted: () => true })).toEqual({
      complete: false,
      classes: [],
      models: [],
    });
    const inModels = () => phases.length > 3;
    phases.length = 0;
    const some = explained(problem, {
      onProgress: ({ phase }) => phases.push(phase, phase),
      interrupted: inModels,
    });
    expect(some).toMatchObject({ complete: false, classes: [{ name: 'A' }], models: [] });
  });
});
