import { expect, test } from 'vitest';
import type { PooledPlan } from '../../src/formats/index.js';
import { withHeldLoad } from '../../src/simulation/held-load.js';
import { planOf } from '../serving/plans.js';

const pipelines = [{ throughputRps: 100, parts: [{ batch: 1, latencyUs: () => 1000 }] }];

function heldPlan(runs: { arrivals: 'poisson' | 'uniform' | 'gamma'; cv?: number }): PooledPlan {
  const plan = planOf([{ sloMs: 50, pipelines }]);
  return {
    ...plan,
    models: plan.models.map((model) => ({ ...model, heldRps: 80 })),
    hold: {
      value: 80,
      bound: 100,
      trials: 1,
      models: [],
      runs: {
        ...runs,
        seeds: [201],
        durationS: 172.425,
        confidence: 0.95,
        warmUp: { fillSlos: 1, settleSlos: 10 },
      },
    },
  };
}

/** WARM_UP is the warm-up of the plan's one model, of 50 ms, as loads have it. */
const WARM_UP = { warmUp: { fillNs: [50e6], settleNs: 500e6 } };
const GAMMA = { arrivals: 'gamma', cv: 3 } as const;

test('withHeldLoad() takes arrivals, duration and warm-up of the runs that confirmed the promise', () => {
  expect(withHeldLoad(heldPlan(GAMMA), {})).toEqual({ ...GAMMA, ...WARM_UP, duration: 172.425 });
  expect(withHeldLoad(heldPlan({ arrivals: 'uniform' }), { seed: 7 } as object)).toEqual({
    seed: 7,
    arrivals: 'uniform',
    duration: 172.425,
    ...WARM_UP,
  });
  const { hold, ...plan } = heldPlan(GAMMA);
  const { warmUp: _, ...runs } = hold!.runs;
  const older = { ...plan, hold: { ...(hold as NonNullable<PooledPlan['hold']>), runs } };
  expect(withHeldLoad(older, {})).toEqual({ ...GAMMA, duration: 172.425 });
});

test('withHeldLoad() keeps what the options say, and takes a cv only for the kind of arrivals that it is of', () => {
  const plan = heldPlan(GAMMA);
  expect(withHeldLoad(plan, { arrivals: 'poisson', duration: 5 })).toEqual({
    arrivals: 'poisson',
    duration: 5,
    ...WARM_UP,
  });
  expect(withHeldLoad(plan, { cv: 2 })).toEqual({ arrivals: 'gamma', cv: 2, duration: 172.425, ...WARM_UP });
  expect(withHeldLoad(plan, { arrivals: 'gamma', duration: 1 })).toEqual({
    ...GAMMA,
    ...WARM_UP,
    duration: 1,
  });
  expect(withHeldLoad(heldPlan({ arrivals: 'poisson', cv: 4 }), { arrivals: 'gamma' })).not.toHaveProperty(
    'cv',
  );
  expect(withHeldLoad(heldPlan({ arrivals: 'poisson', cv: 4 }), {})).not.toHaveProperty('cv');
});

test('withHeldLoad() keeps only the kind of arrivals where the load is not the promise', () => {
  for (const options of [{ rps: ['40'] }, { load: 0.5 }, { phases: ['5s,load=1'] }])
    expect(withHeldLoad(heldPlan(GAMMA), options)).toEqual({ ...options, ...GAMMA });
  expect(withHeldLoad(heldPlan(GAMMA), { duration: 7 }, true)).toEqual({ ...GAMMA, duration: 7 });
  const traced = { traces: ['day.csv'] };
  expect(withHeldLoad(heldPlan(GAMMA), traced)).toBe(traced);
  const plan = heldPlan(GAMMA);
  const models = plan.models.map(({ heldRps: _, ...model }) => model);
  expect(withHeldLoad({ ...plan, models }, {})).toEqual({});
  expect(withHeldLoad(planOf([{ sloMs: 50, pipelines }]), {})).toEqual({});
});
