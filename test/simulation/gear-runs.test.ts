import { describe, expect, it } from 'vitest';
import type { FamilyRecords } from '../../src/records/index.js';
import { GEAR_POLICY } from '../../src/serving/index.js';
import { type GearLoad, type GearServing, simulatedGears } from '../../src/simulation/gear-runs.js';
import { inWholeRun } from '../cases.js';
import { type GivenGears, gearPlan } from '../gear-plans.js';

const SAMPLES = 10;
/** The first model is sure of every other sample, and the second of all. */
const FAMILY: FamilyRecords = {
  samples: SAMPLES,
  models: ['m0', 'm1'],
  correct: [new Uint8Array(SAMPLES).fill(1), new Uint8Array(SAMPLES).fill(1)],
  certainty: [
    Float64Array.from({ length: SAMPLES }, (_, sample) => sample % 2),
    new Float64Array(SAMPLES).fill(1),
  ],
};
const SERVING: GearServing = { scheduler: { name: 'gears', policy: { ...GEAR_POLICY } }, family: FAMILY };
const LOAD: GearLoad = { rps: 20, fillNs: 1e9, settleNs: 4e9, durationNs: 100e9 };

const CASCADE: GivenGears = {
  latencyUs: [[1000], [7000]],
  held: [[0], [1]],
  gears: [{ toRps: 1000, steps: [{ model: 0, threshold: 0.5 }, { model: 1 }] }],
};

const runOf = (given: GivenGears, load: Partial<GearLoad> = {}, seed = 1) =>
  simulatedGears(gearPlan(given), SERVING)({ ...LOAD, ...load }, seed);

const meanOf = (values: ArrayLike<number>): number =>
  Array.from(values).reduce((sum, value) => sum + value, 0) / values.length;

describe('simulatedGears()', () => {
  it('answers a request by the first model that is sure of its sample, after the time of all that it took', () => {
    const { latenciesNs, busiest } = runOf(CASCADE, { rps: 2 });
    // Requests hardly wait at this rate: those of which the first model is sure take 1 ms, and the others 8 ms.
    const alone = latenciesNs.filter((ns) => ns === 1e6 || ns === 8e6).length;
    expect(alone / latenciesNs.length).toBeGreaterThan(0.95);
    const quick = latenciesNs.filter((ns) => ns < 4e6).length / latenciesNs.length;
    expect(quick).toBeGreaterThan(0.4);
    expect(quick).toBeLessThan(0.6);
    // The second device executes 7 ms for every second request, and is the busiest.
    expect(busiest).toBeCloseTo((0.007 * 2) / 2, 2);
  });

  it('counts those requests that come after the warm-up, at the rate of the load', () => {
    const { latenciesNs, gears, inForce } = runOf(CASCADE, { rps: 50 });
    // Four standard deviations of a Poisson count of 5,000 are 283.
    expect(Math.abs(latenciesNs.length - 5000)).toBeLessThan(283);
    expect(gears.length).toBe(latenciesNs.length);
    expect(new Set(gears)).toEqual(new Set([0]));
    expect(inForce).toEqual([0]);
  });

  inWholeRun('waits like a queue of one server: a Poisson load on constant times', () => {
    const single: GivenGears = { ...CASCADE, gears: [{ toRps: 1000, steps: [{ model: 1 }] }] };
    const [rps, serviceS] = [100, 0.007];
    const { latenciesNs, busiest } = runOf(single, { rps, durationNs: 400e9 });
    // It begins with room for fewer requests than come.
    expect(latenciesNs.length).toBeGreaterThan(35_000);
    const load = rps * serviceS;
    const waitedS = (load * serviceS) / (2 * (1 - load));
    expect(meanOf(latenciesNs) / 1e9 / (serviceS + waitedS)).toBeCloseTo(1, 1);
    expect(busiest).toBeCloseTo(load, 2);
  });

  it('never gives a device more time than there is, and reports what is not answered as endless', () => {
    const { latenciesNs, busiest } = runOf(
      { ...CASCADE, sloMs: 20, gears: [{ toRps: 1000, steps: [{ model: 1 }] }] },
      { rps: 400, durationNs: 20e9 },
    );
    expect(busiest).toBeGreaterThan(0.99);
    expect(busiest).toBeLessThanOrEqual(1);
    expect(latenciesNs.every((ns) => ns > 0)).toBe(true);
  });

  it('counts what is answered late with the time that it took', () => {
    const { latenciesNs } = simulatedGears({ ...gearPlan(CASCADE), sloMs: 0.5 }, SERVING)(
      { ...LOAD, rps: 2 },
      1,
    );
    expect(latenciesNs.length).toBeGreaterThan(0);
    // No model takes less than 1 ms.
    expect(latenciesNs.every((ns) => ns >= 1e6 && ns < Number.POSITIVE_INFINITY)).toBe(true);
  });

  it('says of each request the gear in which it came, and which gears were in force', () => {
    const two: GivenGears = {
      ...CASCADE,
      gears: [
        { toRps: 30, steps: [{ model: 1 }] },
        { toRps: 1000, steps: [{ model: 0 }] },
      ],
    };
    const slow = runOf(two, { rps: 10, fillNs: 1 });
    expect(slow.gears.filter((gear) => gear === 0).length / slow.gears.length).toBeGreaterThan(0.8);
    const fast = runOf(two, { rps: 200 });
    expect(fast.gears.filter((gear) => gear === 1).length / fast.gears.length).toBeGreaterThan(0.9);
    expect(fast.inForce).toEqual([0, 1]);
    // In the upper gear the first model answers, in 1 ms where nobody waits.
    const upper = fast.latenciesNs.filter((_, i) => fast.gears[i] === 1);
    expect(meanOf(upper)).toBeLessThan(2e6);
  });

  it('gives the same again, and begins at another sample and other instants under another seed', () => {
    const once = runOf(CASCADE, { durationNs: 5e9 });
    expect(runOf(CASCADE, { durationNs: 5e9 })).toEqual(once);
    expect(runOf(CASCADE, { durationNs: 5e9 }, 2).latenciesNs).not.toEqual(once.latenciesNs);
  });

  it('begins runs at samples that are spread, so that together they have all', () => {
    // The first model is sure of the first half of the samples alone: a run of few requests has a stretch of one kind.
    const halves: FamilyRecords = {
      ...FAMILY,
      samples: 1000,
      certainty: [
        Float64Array.from({ length: 1000 }, (_, sample) => (sample < 500 ? 1 : 0)),
        new Float64Array(1000).fill(1),
      ],
    };
    const run = simulatedGears(gearPlan(CASCADE), { ...SERVING, family: halves });
    const shares = Array.from({ length: 40 }, (_, seed) => {
      const { latenciesNs } = run({ rps: 20, fillNs: 1, settleNs: 1, durationNs: 2e9 }, seed);
      return latenciesNs.filter((ns) => ns < 7e6).length / latenciesNs.length;
    });
    expect(shares.filter((share) => share === 1).length).toBeGreaterThan(10);
    expect(shares.filter((share) => share === 0).length).toBeGreaterThan(10);
  });
});
