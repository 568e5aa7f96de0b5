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

describe('loads', () => {
  const told = ({ pieces, lengthNs, startRate, endRate, startCv, endCv, durationNs }: Load) => ({
    pieces,
    durationNs,
    lengthS: [...lengthNs].map((ns) => ns / 1e9),
    rps: [...startRate].map((rate, i) => [rate * 1e9, (endRate[i] as number) * 1e9]),
    cv: [...startCv].map((cv, i) => [cv, endCv[i]]),
  });

  it('have one piece where they are steady, with variation 1 by default', () => {
    const steady = { pieces: 1, durationNs: 5e9, lengthS: [5], rps: [[2, 2]] };
    expect(told(steadyLoad(2, 5))).toEqual({ ...steady, cv: [[1, 1]] });
    expect(told(steadyLoad(2, 5, 0))).toEqual({ ...steady, cv: [[0, 0]] });
  });

  it('have a transition and a hold for each phase, without those of no length', () => {
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

  it('of a mix follow the shares of the weights, on any scale', () => {
    const [first, second] = mixedLoads([{ rps: 8, durationS: 1, weights: [30, 10] }], 2) as [Load, Load];
    expect([told(first).rps, told(second).rps]).toEqual([[[6, 6]], [[2, 2]]]);
  });

  it('are refused, with the place, where a number is negative, infinite or NaN', () => {
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

  it('may consist of a transition alone, but need some rate and some length', () => {
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
    // A faulty number is reported alone, since a total of 0 may follow from it.
    const faulty = messageOf([{ rps: -1, durationS: 0 }]);
    expect(faulty).toContain('/0/rps: is -1');
    expect(faulty).not.toContain('no phase');
    expect(faulty).not.toContain('every phase');
  });

  it('of one rate are refused where rate, duration or variation is not finite or out of range', () => {
    const infinite = Number.POSITIVE_INFINITY;
    expect(() => steadyLoad(infinite, infinite, infinite)).toThrow(
      /the rate Infinity .*\n.*the duration Infinity .*\n.*variation Infinity/,
    );
    expect(() => steadyLoad(1, 0)).toThrow('arrivals: the duration 0 is not positive');
    expect(() => steadyLoad(1, 1, -0.1)).toThrow('arrivals: the coefficient of variation -0.1 is negative');
  });

  it('of a mix are refused where weights are too few or too many, negative, not finite or all 0', () => {
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

  it('without a rate, a duration or a phase are refused, with every fault', () => {
    expect(() => steadyLoad(0, -1, Number.NaN)).toThrow(
      /rate 0 is not positive\n.*duration -1 is not positive\n.*variation NaN/,
    );
    expect(() => phasedLoad([])).toThrow('load: there are no phases');
    expect(() => phasedLoad([{ rps: 0, durationS: 5 }])).toThrow('load: the rate of every phase is 0');
    expect(() => phasedLoad([{ rps: 1, durationS: 0 }])).toThrow('load: no phase has a duration');
    expect(() =>
      phasedLoad([
        { rps: -1, durationS: 1, transitionS: 2 },
        { rps: 1, cv: -2, durationS: Number.NaN },
      ]),
    ).toThrow(
      /\/0\/rps: is -1.*\n.*\/1\/cv: is -2.*\n.*\/1\/durationS: is NaN.*\n.*\/0\/transitionS: no phase comes before/,
    );
    expect(() => mixedLoads([{ rps: 1, durationS: 1, weights: [1] }], 2)).toThrow(
      '/0/weights: has 1 weights',
    );
    expect(() => mixedLoads([{ rps: 1, durationS: 1, weights: [0, 0] }], 2)).toThrow('has no weight above 0');
    expect(() => mixedLoads([{ rps: 1, durationS: 1, weights: [-1, 2] }], 2)).toThrow('is -1, 2; each must');
  });
});

describe('mixedLoads()', () => {
  it('gives each model its share, and their sum the rate, through a transition', () => {
    const loads = mixedLoads(
      [
        { rps: 100, durationS: 100, weights: [3, 1, 0] },
        { rps: 200, durationS: 100, transitionS: 100, weights: [0, 1, 1] },
      ],
      3,
    );
    const counts = loads.map((load) => {
      const times = timesOf(new DrawnArrivals({ process: 'uniform', load, stream: streamOf(1, 'unused') }));
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
