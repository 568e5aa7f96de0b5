import { describe, expect, it } from 'vitest';
import type { GearPlanBody } from '../../src/gearplan/index.js';
import { repeatedPromise, type SimulateGears } from '../../src/gearplan/index.js';
import { type HeldPlan, type JudgedPlan, PromiseJudge } from '../../src/gearplan/promise.js';
import { streamOf } from '../../src/random/index.js';
import { gearPlan } from '../gear-plans.js';

const PLAN: GearPlanBody = gearPlan({
  latencyUs: [[5_000, 6_000]],
  held: [[0]],
  gears: [40, 100].map((toRps) => ({ toRps, steps: [{ model: 0 }] })),
  sloMs: 80,
});
const [FIRST] = PLAN.gears as [GearPlanBody['gears'][number]];
const REQUESTS = 8_000;

/** Seen is what a judge asked for. */
interface Seen {
  readonly loads: { readonly rps: number; readonly seed: number }[];
}

/** lateAt simulates nothing: at a rate so many of the requests are late, a little more or less by the seed. */
function lateAt(late: (rps: number) => number, seen: Seen = { loads: [] }): SimulateGears {
  return () =>
    ({ rps }, seed) => {
      seen.loads.push({ rps, seed });
      const gear = PLAN.gears.findIndex(({ toRps }) => rps <= toRps);
      const share = late(rps) + 0.002 * (streamOf(seed, 'late').uniform() - 0.5);
      const count = Math.round(REQUESTS * Math.max(0, share));
      return {
        latenciesNs: Float64Array.from({ length: REQUESTS }, (_, i) => (i < count ? 90e6 : 10e6)),
        gears: new Int32Array(REQUESTS).fill(gear),
        inForce: [gear],
        busiest: 0.5,
      };
    };
}

const judgeOf = (simulate: SimulateGears) => new PromiseJudge(simulate, { promisedMs: 80, quantile: 0.95 });

describe('PromiseJudge', () => {
  it('confirms the ends and the middle of each range, and low rates of the first, by eight seeds of at least 8,000 requests', () => {
    const seen: Seen = { loads: [] };
    const held = judgeOf(lateAt(() => 0.03, seen)).held(PLAN) as HeldPlan;
    const rates = held.promise.rates.map(({ rps }) => rps);
    for (const { fromRps, toRps } of PLAN.gears)
      for (const rps of [fromRps || 0.01 * toRps, (fromRps + toRps) / 2, toRps]) expect(rates).toContain(rps);
    for (const rps of rates)
      expect(new Set(seen.loads.filter((load) => load.rps === rps).map(({ seed }) => seed)).size).toBe(8);
    for (const { attainment, requests } of held.promise.rates) {
      expect(attainment.low).toBeGreaterThanOrEqual(0.95);
      expect(requests).toBeGreaterThanOrEqual(8 * REQUESTS);
    }
    expect(held.gears).toEqual(PLAN.gears.map(() => ({ p95Ms: 10, utilization: 0.5 })));
  });

  it('judges no further rate by the seeds of a search once that is stopped, and confirms a plan all the same', () => {
    const seen: Seen = { loads: [] };
    const isStopped = () => seen.loads.length >= 4;
    const promised = { promisedMs: 80, quantile: 0.95, isStopped };
    const judge = new PromiseJudge(
      lateAt(() => 0.03, seen),
      promised,
    );
    expect(judge.expected(PLAN)).toBeUndefined();
    expect(seen.loads.length).toBe(4);
    expect(judge.held(PLAN)).toHaveProperty('promise');
  });

  it('refuses a plan of which the lower end of one rate is below the share, though its mean is above it', () => {
    const top = PLAN.gears.at(-1)!.toRps;
    const judged = judgeOf(lateAt((rps) => (rps === top ? 0.0499 : 0.01))).held(PLAN) as Required<JudgedPlan>;
    expect(judged.worst.rps).toBe(top);
    expect(judged.worst.mean).toBeGreaterThan(0.949);
    expect(judged.failed).toEqual([PLAN.gears.length - 1]);
  });

  it('judges the next plan by other seeds, and does not simulate rates again whose gears have not changed', () => {
    const seen: Seen = { loads: [] };
    let isLate = true;
    const judge = judgeOf(lateAt((rps) => (isLate && rps === FIRST.toRps ? 0.2 : 0.01), seen));
    expect(judge.held(PLAN)).toHaveProperty('worst');
    const before = seen.loads.splice(0);
    isLate = false;
    const changed = {
      ...PLAN,
      gears: PLAN.gears.map((gear, i) => (i === 0 ? { ...gear, timeoutMs: 1 } : gear)),
    };
    const { promise } = judge.held(changed) as HeldPlan;
    expect(Math.max(...seen.loads.map(({ rps }) => rps))).toBe(FIRST.toRps);
    const old = new Set(before.map(({ seed }) => seed));
    for (const { seed } of seen.loads) expect(old.has(seed)).toBe(false);
    const firstSeeds = promise.rates.map(({ firstSeed }) => firstSeed);
    expect(firstSeeds.at(-1)).toBeLessThan(firstSeeds[0]!);
    expect(
      repeatedPromise(
        { ...changed, promise },
        lateAt(() => 0.01),
      ),
    ).toMatchObject({ promise });
    expect(
      repeatedPromise(
        { ...changed, promise },
        lateAt(() => 0.012),
      ),
    ).not.toMatchObject({ promise });
  });
});
