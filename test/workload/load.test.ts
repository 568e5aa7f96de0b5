import { describe, expect, it } from 'vitest';
import { streamOf } from '../../src/random/index.js';
import {
  type Arrivals,
  arrivalsAt,
  arrivalTimes,
  DrawnArrivals,
  type Load,
  mergedArrivals,
  mixedLoads,
  phasedLoad,
  sharedByWeight,
  steadyLoad,
} from '../../src/workload/index.js';

const drawn = (process: 'poisson' | 'uniform' | 'gamma', load: Load, seed = 1) =>
  new DrawnArrivals({ process, load, stream: streamOf(seed, 'arrivals') });

const pulled = (arrivals: Arrivals) => {
  const all: { at: number; model: number }[] = [];
  while (arrivals.next()) all.push({ at: arrivals.atNs, model: arrivals.model });
  return all;
};
const timesOf = (arrivals: Arrivals) => pulled(arrivals).map(({ at }) => at);

const gapsOf = (times: readonly number[]) => times.slice(1).map((t, i) => t - times[i]!);
const moments = (values: readonly number[]) => {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const variance = values.reduce((a, b) => a + (b - mean) ** 2, 0) / (values.length - 1);
  return { mean, cv: Math.sqrt(variance) / mean };
};

describe('DrawnArrivals', () => {
  it('has the given rate and coefficient of variation with gamma gaps', () => {
    for (const cv of [0.25, 0.5, 1, 2, 4]) {
      const times = timesOf(drawn('gamma', steadyLoad(1000, 150, cv), 7));
      const gaps = moments(gapsOf(times));
      // The standard error of a count over time T is cv·√(rate·T). That of a sample's CV grows with the
      // square of the CV.
      expect(Math.abs(times.length - 150_000)).toBeLessThan(4 * cv * Math.sqrt(150_000));
      expect(Math.abs(gaps.cv / cv - 1)).toBeLessThan(0.015 * (1 + cv));
    }
  });

  it('is evenly spaced with gamma gaps without variation', () => {
    expect(timesOf(drawn('gamma', steadyLoad(4, 1, 0)))).toEqual([0.25e9, 0.5e9, 0.75e9]);
  });

  it('follows the integral of a rate that rises and falls', () => {
    const load = phasedLoad([
      { rps: 100, durationS: 200 },
      { rps: 900, durationS: 100, transitionS: 200 },
      { rps: 0, durationS: 50, transitionS: 100 },
      { rps: 400, durationS: 100 },
    ]);
    expect(load.durationNs).toBe(750e9);
    const expected = [20_000, 100_000, 90_000, 45_000, 0, 40_000];
    const ends = [200, 400, 500, 600, 650, 750];
    for (const [process, tolerance] of [
      ['uniform', 1],
      ['poisson', 4 * Math.sqrt(100_000)],
      ['gamma', 4 * Math.sqrt(100_000)],
    ] as const) {
      const times = timesOf(drawn(process, load));
      ends.forEach((end, i) => {
        const from = (ends[i - 1] ?? 0) * 1e9;
        const count = times.filter((t) => t >= from && t < end * 1e9).length;
        expect(Math.abs(count - expected[i]!)).toBeLessThanOrEqual(tolerance);
      });
      expect(times.every((t, i) => Number.isInteger(t) && t >= (times[i - 1] ?? 0))).toBe(true);
    }
  });

  it('places evenly spaced arrivals where the integral of a rising rate is a whole number', () => {
    const load = phasedLoad([
      { rps: 0, durationS: 1 },
      { rps: 2, durationS: 1, transitionS: 4 },
    ]);
    // Over the transition the integral is t²/4 from second 1 on: 0, 1, 2, 3 at t = 0, 2, √8, √12. After it
    // come 4 and 5.
    const seconds = [1, 1 + 2, 1 + Math.sqrt(8), 1 + Math.sqrt(12), 5, 5.5];
    expect(timesOf(drawn('uniform', load))).toEqual(seconds.map((s) => Math.round(s * 1e9)));
  });

  it('changes its variation over a transition', () => {
    const times = timesOf(
      drawn(
        'gamma',
        phasedLoad([
          { rps: 500, cv: 0.2, durationS: 200 },
          { rps: 500, cv: 3, durationS: 200, transitionS: 100 },
        ]),
      ),
    );
    const cvWithin = (from: number, to: number) =>
      moments(gapsOf(times.filter((t) => t >= from * 1e9 && t < to * 1e9))).cv;
    expect(cvWithin(0, 200)).toBeCloseTo(0.2, 1);
    expect(cvWithin(240, 260)).toBeGreaterThan(1.2);
    expect(cvWithin(240, 260)).toBeLessThan(2);
    expect(Math.abs(cvWithin(300, 500) - 3)).toBeLessThan(0.2);
  });

  it('refuses invalid loads with every fault', () => {
    expect(() => steadyLoad(0, -1, Number.NaN)).toThrow(
      /rate 0 is not positive\n.*duration -1 is not positive\n.*variation NaN/,
    );
    expect(() => phasedLoad([])).toThrow('there are no phases');
    expect(() => phasedLoad([{ rps: 0, durationS: 5 }])).toThrow('the rate of every phase is 0');
    expect(() => phasedLoad([{ rps: 1, durationS: 0 }])).toThrow('no phase has a duration');
    expect(() =>
      phasedLoad([
        { rps: -1, durationS: 1, transitionS: 2 },
        { rps: 1, cv: -2, durationS: Number.NaN },
      ]),
    ).toThrow(
      /\/0\/rps: is -1.*\n.*\/1\/cv: is -2.*\n.*\/1\/durationS: is NaN.*\n.*\/0\/transitionS: there is nothing/,
    );
    expect(() => mixedLoads([{ rps: 1, durationS: 1, weights: [1] }], 2)).toThrow(
      '/0/weights: has 1 weights',
    );
    expect(() => mixedLoads([{ rps: 1, durationS: 1, weights: [0, 0] }], 2)).toThrow('has no weight above 0');
    expect(() => mixedLoads([{ rps: 1, durationS: 1, weights: [-1, 2] }], 2)).toThrow('is -1, 2; each must');
  });
});

describe('mixedLoads()', () => {
  it('gives each model its share, which adds up to the rate, through a transition', () => {
    const loads = mixedLoads(
      [
        { rps: 100, durationS: 100, weights: [3, 1, 0] },
        { rps: 200, durationS: 100, transitionS: 100, weights: [0, 1, 1] },
      ],
      3,
    );
    const counts = loads.map((load) => {
      const times = timesOf(drawn('uniform', load));
      return [0, 100, 200].map(
        (from) => times.filter((t) => t >= from * 1e9 && t < (from + 100) * 1e9).length,
      );
    });
    const expected = [
      [7500, 3750, 0],
      [2500, 6250, 10_000],
      [0, 5000, 10_000],
    ];
    const off = counts.flat().map((count, i) => Math.abs(count - expected.flat()[i]!));
    expect(Math.max(...off)).toBeLessThanOrEqual(1);
  });
});

describe('mergedArrivals()', () => {
  it('is in order of time, and of source at equal times', () => {
    const merged = mergedArrivals([arrivalsAt([5, 5, 9], 0), arrivalsAt([1, 5, 12], 1), arrivalsAt([], 2)]);
    expect(pulled(merged)).toEqual([
      { at: 1, model: 1 },
      { at: 5, model: 0 },
      { at: 5, model: 0 },
      { at: 5, model: 1 },
      { at: 9, model: 0 },
      { at: 12, model: 1 },
    ]);
    expect(merged.next()).toBe(false);
    expect(mergedArrivals([]).next()).toBe(false);
  });

  it('leaves the arrivals of one model unchanged when another has more', () => {
    const run = (rpsOfOther: number) =>
      pulled(
        mergedArrivals(
          [300, rpsOfOther].map(
            (rps, model) =>
              new DrawnArrivals({
                process: 'poisson',
                load: steadyLoad(rps, 5),
                stream: streamOf(1, `arrivals/${model}`),
                model,
              }),
          ),
        ),
      );
    const ofFirst = (rpsOfOther: number) => run(rpsOfOther).filter(({ model }) => model === 0);
    expect(ofFirst(100)).toEqual(ofFirst(1000));
    expect(ofFirst(100).length).toBeGreaterThan(1000);
    expect(run(1000).length - ofFirst(1000).length).toBeGreaterThan(4000);
  });
});

describe('sharedByWeight()', () => {
  it('keeps the times and draws models in proportion', () => {
    const times = arrivalTimes({ process: 'poisson', rps: 1000, durationS: 50, stream: streamOf(1, 'a') });
    const shared = pulled(sharedByWeight(arrivalsAt(times), [1, 0, 3], streamOf(1, 'models')));
    expect(shared.map(({ at }) => at)).toEqual(Array.from(times));
    const share = shared.filter(({ model }) => model === 2).length / shared.length;
    expect(Math.abs(share - 0.75)).toBeLessThan(0.01);
    expect(shared.some(({ model }) => model === 1)).toBe(false);
  });

  it('refuses weights that are negative, all 0 or not numbers', () => {
    for (const weights of [[], [0, 0], [1, -1], [Number.NaN]])
      expect(() => sharedByWeight(arrivalsAt([1]), weights, streamOf(1, 'm'))).toThrow(
        'Cannot share the load',
      );
  });
});
