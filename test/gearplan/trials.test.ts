import { describe, expect, it } from 'vitest';
import {
  cascadeOf,
  type FamilyModel,
  type GearProblem,
  proportionalArrivals,
} from '../../src/gearplan/index.js';
import { GearTrials } from '../../src/gearplan/trials.js';
import { streamOf } from '../../src/random/index.js';

const ms = 1e6;

/** A model that runs one sample at a time and is always sure. */
function oneByOne(latencyMs: number): FamilyModel {
  return {
    name: 'm',
    latencyNs: Float64Array.of(latencyMs * ms),
    memoryBytes: 1,
    correct: Uint8Array.of(1),
    certainty: Float64Array.of(1),
  };
}

const model = oneByOne(10);

/** A problem with one range up to a rate, on one device. */
function problemOf(toRps: number, latencyMs: number): GearProblem {
  return {
    models: [model],
    devices: 1,
    memoryBytes: Number.POSITIVE_INFINITY,
    ranges: [{ fromRps: 0, toRps, share: 1 }],
    latencyNs: latencyMs * ms,
    quantile: 0.95,
    thresholds: 1,
  };
}

/** tried is the answer of a trial on arrivals that are so far apart, whatever the rate. */
function tried(problem: GearProblem, gapMs: number) {
  const trials = new GearTrials(problem, (requests) =>
    Float64Array.from({ length: requests }, (_, request) => (request + 1) * gapMs * ms),
  );
  return trials.try(0, cascadeOf(problem.models, { models: [0], thresholds: [] }, 0.95), [1]);
}

describe('A trial of a gear', () => {
  it('gives the time in which the promised share of the requests was answered', () => {
    const answer = tried(problemOf(90, 50), 11);
    expect(answer).toMatchObject({
      gear: { minQueues: [1], timeoutNs: 0, latencyNs: 10 * ms, p95Ns: 10 * ms },
    });
    expect('gear' in answer && answer.gear.busy).toBeCloseTo(10 / 11, 1);
  });

  it('gives the 95th percentile beside the quantile that is promised', () => {
    // Of each ten requests nine come together, and are served one after another.
    const trials = new GearTrials({ ...problemOf(80, 500), quantile: 0.5 }, (requests) =>
      Float64Array.from(
        { length: requests },
        (_, r) => (120 * (1 + Math.floor(r / 10)) + (r % 10 === 9 ? 100 : 0)) * ms,
      ),
    );
    const answer = trials.try(0, cascadeOf([model], { models: [0], thresholds: [] }, 0.95), [1]);
    if (!('gear' in answer)) throw new Error(JSON.stringify(answer));
    // They take 10, 20 … 90 ms, and the tenth 10 ms.
    expect(answer.gear.latencyNs).toBe(40 * ms);
    expect(answer.gear.p95Ns).toBe(90 * ms);
  });

  it('says that the load is too much where the queue grows to the end, though no latency is asked for', () => {
    const patient = problemOf(99, Number.POSITIVE_INFINITY);
    expect(tried(patient, 9)).toEqual({ error: { by: 'load', model: 0 } });
    expect(tried(patient, 11)).toHaveProperty('gear');
  });

  it('says that the load is too much where the models need more time than the devices have, and tries nothing', () => {
    const trials = new GearTrials(problemOf(101, 5_000), () => {
      throw new Error('nothing is to be tried');
    });
    const cascade = cascadeOf([model], { models: [0], thresholds: [] }, 0.95);
    expect(trials.try(0, cascade, [1])).toEqual({ error: { by: 'load', model: 0 } });
    expect(trials.count).toBe(0);
  });

  it('says that requests are late where they are, and where even one that never waits is', () => {
    // Nine requests come at once every 100 ms: the devices have the time, but seven of nine wait longer than 25 ms.
    const trials = new GearTrials(problemOf(90, 25), (requests) =>
      Float64Array.from({ length: requests }, (_, request) => (1 + Math.floor(request / 9)) * 100 * ms),
    );
    const cascade = cascadeOf([model], { models: [0], thresholds: [] }, 0.95);
    expect(trials.try(0, cascade, [1])).toEqual({ error: { by: 'latency', model: 0 } });
    expect(tried(problemOf(90, 9), 11)).toEqual({ error: { by: 'latency', model: 0 } });
  });
});

describe('A trial of a gear with headroom', () => {
  it('raises the highest rate of a range, and no other one', () => {
    const rates: number[] = [];
    const problem = { ...problemOf(50, 50), ranges: [{ fromRps: 10, toRps: 50, share: 1 }], headroom: [0.1] };
    const trials = new GearTrials(problem, (requests, rps) => {
      rates.push(rps);
      return Float64Array.from({ length: requests }, (_, i) => Math.round(((i + 1) * 1e9) / rps));
    });
    trials.try(0, cascadeOf(problem.models, { models: [0], thresholds: [] }, 0.95), [1]);
    expect(rates.map((rps) => Number(rps.toFixed(9)))).toEqual([55, 30, 10]);
  });
});

describe('A trial at the lowest rates', () => {
  it('never lets a batch wait so long that its first request is late with it, however few samples there are', () => {
    for (const samples of [1, 3, 40])
      for (const latencyMs of [12, 15, 30]) {
        const batched: FamilyModel = {
          ...oneByOne(10),
          latencyNs: Float64Array.from({ length: 16 }, (_, b) => (8 + 0.25 * b) * ms),
          correct: new Uint8Array(samples).fill(1),
          certainty: new Float64Array(samples).fill(1),
        };
        const problem: GearProblem = { ...problemOf(900, latencyMs), models: [batched] };
        const arrivals = proportionalArrivals(streamOf(1, 'lowest rates').exponential);
        const cascade = cascadeOf(problem.models, { models: [0], thresholds: [] }, 0.95);
        const tried = new GearTrials(problem, arrivals).try(0, cascade, [1]);
        if (!('gear' in tried)) continue;
        const { timeoutNs, minQueues } = tried.gear;
        const slowest = Math.max(...batched.latencyNs.slice(0, minQueues[0]));
        expect(timeoutNs + slowest, `${samples} samples, ${latencyMs} ms`).toBeLessThanOrEqual(
          latencyMs * ms,
        );
      }
  });
});

describe('Arrivals for trials', () => {
  it('come at the rate that is asked for, whatever is drawn, and alike at every rate', () => {
    const arrivalsOf = proportionalArrivals(streamOf(1, 'gears/arrivals').exponential);
    for (const rps of [10, 3_000]) {
      const timesNs = arrivalsOf(9_000, rps);
      expect(timesNs.at(-1)! / 1e9).toBeCloseTo(9_000 / rps, 6);
    }
    const [slow, fast] = [arrivalsOf(100, 10), arrivalsOf(100, 20)];
    for (let i = 0; i < 100; i++) expect(slow[i]! / fast[i]!).toBeCloseTo(2, 5);
  });
});
