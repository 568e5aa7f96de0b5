import { describe, expect, it } from 'vitest';
import { gearPromiseFaults } from '../../../src/checks/index.js';
import type { GearPlanBody, SimulateGears } from '../../../src/gearplan/index.js';
import { type HeldPlan, PromiseJudge } from '../../../src/gearplan/promise.js';
import { gearPlan } from '../../gear-plans.js';

const PLAN: GearPlanBody = gearPlan({
  latencyUs: [[5_000, 6_000]],
  held: [[0]],
  gears: [40, 100].map((toRps) => ({ toRps, steps: [{ model: 0 }] })),
  sloMs: 80,
});
const [FIRST, SECOND] = PLAN.gears as [GearPlanBody['gears'][number], GearPlanBody['gears'][number]];
const REQUESTS = 8_000;

/** At every rate 3 % of the requests are late, so that what a planner confirms is the oracle of what is found nothing in. */
const simulate: SimulateGears =
  () =>
  ({ rps }) => {
    const gear = PLAN.gears.findIndex(({ toRps }) => rps <= toRps);
    return {
      latenciesNs: Float64Array.from({ length: REQUESTS }, (_, i) => (i < 0.03 * REQUESTS ? 90e6 : 10e6)),
      gears: new Int32Array(REQUESTS).fill(gear),
      inForce: [gear],
      busiest: 0.5,
    };
  };

describe('gearPromiseFaults()', () => {
  const { promise } = new PromiseJudge(simulate, { promisedMs: 80, quantile: 0.95 }).held(PLAN) as HeldPlan;
  const objective = { ...PLAN.objective, kind: 'accuracy' as const };
  const plan = { ...PLAN, objective, promise };
  const rate = promise.rates[0]!;
  const paths = (of: Parameters<typeof gearPromiseFaults>[0]) =>
    gearPromiseFaults(of).map(({ path }) => path);

  it('finds nothing in a promise as it is confirmed, and nothing where there is none', () => {
    expect(gearPromiseFaults(plan)).toEqual([]);
    const { promise: _, ...without } = plan;
    expect(gearPromiseFaults(without)).toEqual([]);
  });

  it('finds another latency, share, number of runs, seed and rate, and an interval below the share', () => {
    expect(paths({ ...plan, promise: { ...promise, latencyMs: 70 } })).toEqual(['/promise/latencyMs']);
    expect(paths({ ...plan, slo: { latencyMs: 80, quantile: 0.9 } })).toEqual(['/promise/quantile']);
    expect(paths({ ...plan, promise: { ...promise, runs: 2 } })).toEqual(['/promise/runs']);
    const withRate = (change: object) => ({
      ...plan,
      promise: { ...promise, rates: promise.rates.with(0, { ...rate, ...change }) },
    });
    expect(paths(withRate({ firstSeed: 7 }))).toEqual(['/promise/rates/0/firstSeed']);
    expect(paths(withRate({ rps: 1.1 * rate.rps }))).toEqual(['/promise/rates']);
    expect(paths(withRate({ attainment: { ...rate.attainment, low: 0.94 } }))).toEqual([
      '/promise/rates/0/attainment',
    ]);
    expect(paths({ ...plan, gears: [{ ...FIRST, toRps: 2 * FIRST.toRps }, SECOND] })).toEqual([
      '/promise/rates',
    ]);
  });
});
