import { describe, expect, it } from 'vitest';
import { streamOf } from '../../src/random/index.js';
import {
  type Arrivals,
  DrawnArrivals,
  type Load,
  type LoadPhase,
  mixedLoads,
  phasedLoad,
  steadyLoad,
} from '../../src/workload/index.js';

const timesOf = (arrivals: Arrivals) => {
  const times: number[] = [];
  while (arrivals.next()) times.push(arrivals.atNs);
  return times;
};

/** Gaps that are given, and a note of the shapes that were asked for. */
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

/** The expected number of requests until `at` seconds, by summing small steps of the phases' rates. */
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
  it('puts arrival after arrival where the expected number of requests is the sum of the gaps drawn', () => {
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

  it('gives nobody the half-open end of a piece: an arrival there belongs to the next', () => {
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

  it('asks for gamma gaps of the variation at the arrival before', () => {
    const load = phasedLoad([
      { rps: 1, cv: 2, durationS: 2 },
      { rps: 1, cv: 4, durationS: 2, transitionS: 4 },
    ]);
    const { shapes, stream } = scripted(Array.from({ length: 20 }, () => 1));
    const times = timesOf(new DrawnArrivals({ process: 'gamma', load, stream }));
    expect(times).toEqual([1, 2, 3, 4, 5, 6, 7].map((s) => s * 1e9));
    // Held at 2 until second 2, then half more each second until it is 4 at second 6.
    const cvs = [2, 2, 2, 2.5, 3, 3.5, 4, 4];
    expect(shapes.length).toBe(cvs.length);
    shapes.forEach((shape, i) => {
      expect(1 / Math.sqrt(shape)).toBeCloseTo(cvs[i] as number, 9);
    });
  });

  it('draws by its own process alone', () => {
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

  it('places evenly spaced arrivals in the middle of their shares where it is told to', () => {
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

  it('names the model it was made for, the first where none is told', () => {
    const options = { process: 'uniform', load: steadyLoad(1, 1), stream: streamOf(1, 'unused') } as const;
    expect(new DrawnArrivals(options).model).toBe(0);
    expect(new DrawnArrivals({ ...options, model: 3 }).model).toBe(3);
  });
});

describe('loads', () => {
  const told = ({ pieces, lengthNs, startRate, endRate, startCv, endCv, durationNs }: Load) => ({
    pieces,
    durationNs,
    lengthS: [...lengthNs].map((ns) => ns / 1e9),
    rps: [...startRate].map((rate, i) => [rate * 1e9, (endRate[i] as number) * 1e9]),
    cv: [...startCv].map((cv, i) => [cv, endCv[i]]),
  });

  it('are one piece where they are steady, of variation 1 unless another is told', () => {
    const steady = { pieces: 1, durationNs: 5e9, lengthS: [5], rps: [[2, 2]] };
    expect(told(steadyLoad(2, 5))).toEqual({ ...steady, cv: [[1, 1]] });
    expect(told(steadyLoad(2, 5, 0))).toEqual({ ...steady, cv: [[0, 0]] });
  });

  it('are a transition and a hold for each phase, those of no length left out', () => {
    const phases = [
      { rps: 1, durationS: 2 },
      { rps: 3, cv: 0.5, durationS: 0, transitionS: 4 },
      { rps: 5, durationS: 6, transitionS: 1 },
    ];
    expect(told(phasedLoad(phases))).toEqual({
      pieces: 4,
      durationNs: 13e9,
      lengthS: [2, 4, 1, 6],
      rps: [
        [1, 1],
        [1, 3],
        [3, 5],
        [5, 5],
      ],
      cv: [
        [1, 1],
        [1, 0.5],
        [0.5, 1],
        [1, 1],
      ],
    });
  });

  it('of a mix are the shares of the weights, on any scale', () => {
    const [first, second] = mixedLoads([{ rps: 8, durationS: 1, weights: [30, 10] }], 2) as [Load, Load];
    expect([told(first).rps, told(second).rps]).toEqual([[[6, 6]], [[2, 2]]]);
  });

  it('are refused where a number is negative, infinite or none, at its place', () => {
    const faultsOf = (phase: Partial<LoadPhase>) => () =>
      phasedLoad([
        { rps: 1, durationS: 1 },
        { rps: 1, durationS: 1, ...phase },
      ]);
    for (const name of ['rps', 'cv', 'durationS', 'transitionS'] as const)
      for (const value of [-1, Number.NaN, Number.POSITIVE_INFINITY])
        expect(faultsOf({ [name]: value })).toThrow(`/1/${name}: is ${value}; it must be a number`);
    expect(faultsOf({ rps: 0, cv: 0, durationS: 0, transitionS: 0 })).not.toThrow();
    expect(() => phasedLoad([{ rps: 1, durationS: 1, transitionS: 0 }])).not.toThrow();
  });

  it('may live by a transition alone, and need a rate and a length somewhere', () => {
    const still = { rps: 0, durationS: 0 };
    expect(phasedLoad([still, { rps: 1, durationS: 0, transitionS: 2 }]).durationNs).toBe(2e9);
    const messageOf = (phases: readonly LoadPhase[]) => {
      try {
        phasedLoad(phases);
      } catch (error) {
        return (error as Error).message;
      }
      return '';
    };
    expect(messageOf([still])).toContain('the rate of every phase is 0');
    expect(messageOf([{ ...still, rps: 1 }])).toContain('no phase has a duration');
    // A fault of a number is told alone: what is 0 besides may follow from it.
    const faulty = messageOf([{ rps: -1, durationS: 0 }]);
    expect(faulty).toContain('/0/rps: is -1');
    expect(faulty).not.toContain('no phase');
    expect(faulty).not.toContain('every phase');
  });

  it('of one rate are refused with rate, duration and variation that are infinite', () => {
    const infinite = Number.POSITIVE_INFINITY;
    expect(() => steadyLoad(infinite, infinite, infinite)).toThrow(
      /the rate Infinity .*\n.*the duration Infinity .*\n.*variation Infinity/,
    );
    expect(() => steadyLoad(1, 0)).toThrow('the duration 0 is not positive');
    expect(() => steadyLoad(1, 1, -0.1)).toThrow('variation -0.1 is negative');
  });

  it('of a mix are refused with weights that are too few, negative, infinite or nothing', () => {
    const loads = (...weights: number[][]) =>
      mixedLoads(
        weights.map((own) => ({ rps: 1, durationS: 1, weights: own })),
        2,
      );
    expect(() => loads([1, 1], [1], [1, 2, 3])).toThrow(
      /\/1\/weights: has 1 weights; there are 2 models\n.*\/2\/weights: has 3 weights; there are 2 models/,
    );
    for (const bad of [-1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => loads([1, bad])).toThrow(`/0/weights: is 1, ${bad}; each must`);
    expect(() => loads([0, 0])).toThrow('/0/weights: has no weight above 0');
    expect(() => loads([0, 1])).not.toThrow();
    expect(() => mixedLoads([{ rps: -1, durationS: 1, weights: [1] }], 2)).toThrow(
      /\/0\/rps: is -1.*\n.*\/0\/weights: has 1/,
    );
  });
});
