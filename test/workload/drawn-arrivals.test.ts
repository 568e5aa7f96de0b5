import { describe, expect, it } from 'vitest';
import { streamOf } from '../../src/random/index.js';
import {
  type Arrivals,
  DrawnArrivals,
  type Load,
  type LoadPhase,
  phasedLoad,
  steadyLoad,
} from '../../src/workload/index.js';
import { inWholeRun } from '../cases.js';

const timesOf = (arrivals: Arrivals) => {
  const times: number[] = [];
  while (arrivals.next()) times.push(arrivals.atNs);
  return times;
};

const drawn = (process: 'poisson' | 'uniform' | 'gamma', load: Load, seed = 1) =>
  new DrawnArrivals({ process, load, stream: streamOf(seed, 'arrivals') });

const gapsOf = (times: readonly number[]) => times.slice(1).map((t, i) => t - times[i]!);
const moments = (values: readonly number[]) => {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  const variance = values.reduce((a, b) => a + (b - mean) ** 2, 0) / (values.length - 1);
  return { mean, cv: Math.sqrt(variance) / mean };
};

/** A stream that gives these gaps, and a list of the gamma shapes that it was asked for. */
function scripted(gaps: readonly number[]) {
  const shapes: number[] = [];
  let next = 0;
  const gap = () => gaps[next++] ?? 1e9;
  return {
    shapes,
    stream: {
      exponential: gap,
      gamma: (shape: number) => {
        shapes.push(shape);
        return shape * gap();
      },
    },
  };
}

/** The expected number of requests until `at` seconds, as a sum of small steps of the phases' rates. */
function expectedUntil(phases: readonly LoadPhase[], at: number): number {
  let [sum, begin, before] = [0, 0, phases[0]?.rps ?? 0];
  for (const { rps, durationS, transitionS = 0 } of phases) {
    const rateAt = (s: number) => (s < transitionS ? before + ((rps - before) * s) / transitionS : rps);
    const length = Math.min(transitionS + durationS, Math.max(0, at - begin));
    const steps = 1000;
    for (let i = 0; i < steps; i++) sum += (rateAt(((i + 0.5) * length) / steps) * length) / steps;
    begin += transitionS + durationS;
    before = rps;
  }
  return sum;
}

describe('DrawnArrivals', () => {
  inWholeRun('has the rate and the coefficient of variation asked for, under gamma gaps', () => {
    for (const cv of [0.25, 0.5, 1, 2, 4]) {
      const times = timesOf(drawn('gamma', steadyLoad(1000, 150, cv), 7));
      const gaps = moments(gapsOf(times));
      // The standard error of a count over time T is cv·√(rate·T); that of a sample's CV grows with the CV's square.
      expect(Math.abs(times.length - 150_000)).toBeLessThan(4 * cv * Math.sqrt(150_000));
      expect(Math.abs(gaps.cv / cv - 1)).toBeLessThan(0.015 * (1 + cv));
    }
  });

  it('is evenly spaced under gamma gaps of no variation', () => {
    expect(timesOf(drawn('gamma', steadyLoad(4, 1, 0)))).toEqual([0.25e9, 0.5e9, 0.75e9]);
  });

  inWholeRun('follows a rate that rises and falls, as the integral of the rate says', () => {
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

  it('places evenly spaced arrivals of a rising rate where its integral is a whole number', () => {
    const load = phasedLoad([
      { rps: 0, durationS: 1 },
      { rps: 2, durationS: 1, transitionS: 4 },
    ]);
    // During the transition the integral from second 1 on is t²/4. It is 0, 1, 2 and 3 at t = 0, 2, √8 and √12, then 4
    // and 5.
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

  it('places each arrival where the expected number of requests equals the sum of the gaps drawn', () => {
    for (let seed = 1; seed <= 12; seed++) {
      const stream = streamOf(seed, 'phases');
      const phases = Array.from({ length: 4 }, (_, i) => ({
        rps: stream.uniform() < 0.3 ? 0 : 5 * stream.uniform(),
        durationS: stream.uniform() < 0.3 ? 0 : 3 * stream.uniform(),
        transitionS: i === 0 || stream.uniform() < 0.3 ? 0 : 3 * stream.uniform(),
      }));
      phases.push({ rps: 2, durationS: 2, transitionS: 1 });
      const gaps = Array.from({ length: 200 }, () => stream.exponential());
      for (const process of ['poisson', 'gamma'] as const) {
        const times = timesOf(
          new DrawnArrivals({ process, load: phasedLoad(phases), stream: scripted(gaps).stream }),
        );
        let reached = 0;
        times.forEach((at, i) => {
          reached += gaps[i] as number;
          expect(expectedUntil(phases, at / 1e9)).toBeCloseTo(reached, 2);
        });
        const all = expectedUntil(phases, 1e9);
        expect(reached).toBeLessThan(all);
        expect(reached + (gaps[times.length] as number)).toBeGreaterThan(all - 1e-2);
      }
    }
  });

  it('gives no arrival at the end of the load or after it', () => {
    const poisson = (gaps: readonly number[]) =>
      timesOf(
        new DrawnArrivals({ process: 'poisson', load: steadyLoad(1, 3), stream: scripted(gaps).stream }),
      );
    expect(poisson([1, 1, 1])).toEqual([1e9, 2e9]);
    expect(poisson([1, 2 - 2 ** -40])).toEqual([1e9]);
    expect(poisson([1, 2 - 2 ** -20])).toEqual([1e9, 3e9 - 954]);
  });

  it('moves an arrival at the end of a piece to the next piece with a rate', () => {
    const load = phasedLoad([
      { rps: 1, durationS: 2 },
      { rps: 0, durationS: 5 },
      { rps: 10, durationS: 1 },
    ]);
    const times = timesOf(
      new DrawnArrivals({ process: 'poisson', load, stream: scripted([1, 1, 1]).stream }),
    );
    expect(times).toEqual([1e9, 7e9, 7.1e9]);
  });

  it('draws each gamma gap with the coefficient of variation at the arrival before it', () => {
    const load = phasedLoad([
      { rps: 1, cv: 2, durationS: 2 },
      { rps: 1, cv: 4, durationS: 2, transitionS: 4 },
    ]);
    const { shapes, stream } = scripted(Array.from({ length: 20 }, () => 1));
    const times = timesOf(new DrawnArrivals({ process: 'gamma', load, stream }));
    expect(times).toEqual([1, 2, 3, 4, 5, 6, 7].map((s) => s * 1e9));
    // The coefficient is 2 until second 2. It then grows by a half per second, until it is 4 at second 6.
    const cvs = [2, 2, 2, 2.5, 3, 3.5, 4, 4];
    expect(shapes.length).toBe(cvs.length);
    shapes.forEach((shape, i) => {
      expect(1 / Math.sqrt(shape)).toBeCloseTo(cvs[i] as number, 9);
    });
  });

  it('draws only from the generator of its own process', () => {
    const refuse = () => {
      throw new Error('drawn');
    };
    const load = steadyLoad(4, 1);
    const gap = () => 1;
    const of = (
      process: 'poisson' | 'uniform' | 'gamma',
      stream: { exponential(): number; gamma(): number },
    ) => timesOf(new DrawnArrivals({ process, load, stream }));
    expect(of('uniform', { exponential: refuse, gamma: refuse })).toEqual([0, 0.25e9, 0.5e9, 0.75e9]);
    expect(of('poisson', { exponential: gap, gamma: refuse })).toEqual([0.25e9, 0.5e9, 0.75e9]);
    expect(of('gamma', { exponential: refuse, gamma: gap })).toEqual([0.25e9, 0.5e9, 0.75e9]);
  });

  it('places evenly spaced arrivals in the middle of their intervals with an offset of 0.5', () => {
    const at = (uniformOffset?: number) =>
      timesOf(
        new DrawnArrivals({
          process: 'uniform',
          load: steadyLoad(2, 2),
          stream: streamOf(1, 'unused'),
          ...(uniformOffset !== undefined && { uniformOffset }),
        }),
      );
    expect(at()).toEqual([0, 0.5e9, 1e9, 1.5e9]);
    expect(at(0.5)).toEqual([0.25e9, 0.75e9, 1.25e9, 1.75e9]);
  });

  it('has the given model, and model 0 by default', () => {
    const options = { process: 'uniform', load: steadyLoad(1, 1), stream: streamOf(1, 'unused') } as const;
    expect(new DrawnArrivals(options).model).toBe(0);
    expect(new DrawnArrivals({ ...options, model: 3 }).model).toBe(3);
  });
});
