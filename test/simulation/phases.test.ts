import { describe, expect, it } from 'vitest';
import { type InputError, ToldFaults } from '../../src/formats/index.js';
import {
  durationOfPhases,
  highestRate,
  loadsOfPhases,
  meanRates,
  type Phase,
  phasesOf,
} from '../../src/simulation/phases.js';
import type { Load } from '../../src/workload/index.js';

const MODELS = [
  { name: 'a', throughputRps: 100, weight: 1 },
  { name: 'b', throughputRps: 300, weight: 3 },
];

type Options = Parameters<typeof phasesOf>[1];

/** read gives the phases of options, which have no fault. */
function read(phases: string[], more: Options = {}): Phase[] | undefined {
  const told = new ToldFaults();
  const found = phasesOf(MODELS, { phases, ...more }, told);
  expect(told.count, told.count === 0 ? '' : told.error('read').message).toBe(0);
  return found;
}

/** faultsOf gives the faults of phases, and says whether there are phases nevertheless. */
function faultsOf(
  phases: string[],
  more: Options = {},
): { readonly faults: string[]; readonly isGiven: boolean } {
  const told = new ToldFaults();
  const found = phasesOf(MODELS, { phases, ...more }, told);
  const faults = (told.error('read') as InputError).faults.map(({ path, message }) => `${path} ${message}`);
  return { faults, isGiven: found !== undefined };
}

describe('phasesOf()', () => {
  it('reads the length of each phase, and its rate as a multiple, for all models or by model', () => {
    expect(read(['60s,load=0.5', '2min,rps=40', '500ms,b=7', '1s,a=1,b=2', '1s,rps=0'])).toEqual([
      { durationS: 60, transitionS: 0, rps: [50, 150] },
      { durationS: 120, transitionS: 0, rps: [10, 30] },
      { durationS: 0.5, transitionS: 0, rps: [0, 7] },
      { durationS: 1, transitionS: 0, rps: [1, 2] },
      { durationS: 1, transitionS: 0, rps: [0, 0] },
    ]);
    expect(read([])).toBe(undefined);
    const told = new ToldFaults();
    expect([phasesOf(MODELS, {}, told), told.count]).toEqual([undefined, 0]);
  });

  it('reads transitions, and the variation of gamma arrivals or that of all phases', () => {
    expect(read(['1s,rps=4', '2s,rps=8,over=3s'])).toEqual([
      { durationS: 1, transitionS: 0, rps: [1, 3] },
      { durationS: 2, transitionS: 3, rps: [2, 6] },
    ]);
    const gamma = { arrivals: 'gamma', cv: 2 } as const;
    expect(read(['1s,rps=4', '1s,rps=4,cv=3'], gamma)!.map(({ cv }) => cv)).toEqual([2, 3]);
    // Only gamma arrivals have a variation.
    expect(read(['1s,rps=4'], { arrivals: 'poisson', cv: 2 })![0]).not.toHaveProperty('cv');
  });

  it.each<[string, string, string]>([
    ['a length that is none', '0s,rps=4', 'is not a time above 0, such as 60s or 10min'],
    ['a transition of no length', '1s,rps=4,over=0s', 'is not a time above 0'],
    ['a field without a value', '1s,rps=4,fast', 'is not key=value, such as 60s,load=0.5'],
    ['a field without a name', '1s,rps=4,=3', 'is not key=value'],
    ['a field that comes twice', '1s,rps=4,rps=5', 'rps is given twice'],
    ['a model that is not there', '1s,c=4', 'there is no c=; there are load=, rps=, cv=, over=, a=, b='],
    ['a phase without a rate', '1s', 'has no rate, such as'],
    ['two kinds of rates', '1s,rps=4,load=1', 'takes one of load=, rps= and rates of models'],
    ['rates of models beside one', '1s,rps=4,a=1', 'takes one of load=, rps= and rates of models'],
    ['a rate below 0', '1s,rps=-1', 'it must be a number of at least 0'],
    ['a rate that is no number', '1s,rps=many', 'it must be a number of at least 0'],
    ['an empty rate', '1s,rps= ', 'it must be a number of at least 0'],
    ['an endless rate', '1s,load=Infinity', 'it must be a number of at least 0'],
    ['a variation without gamma', '1s,rps=4,cv=2', 'cv= is for `arrivals` gamma'],
  ])('refuses %s', (_, phase, said) => {
    const { faults, isGiven } = faultsOf(['1s,rps=1', phase]);
    expect(faults).toEqual([expect.stringContaining(said)]);
    expect(faults[0]).toContain(`"${phase}"`);
    expect(isGiven).toBe(false);
  });

  it('refuses gamma without a variation, and one that cannot be', () => {
    expect(faultsOf(['1s,rps=4'], { arrivals: 'gamma' }).faults).toEqual([
      expect.stringContaining('gamma needs cv=, how bursty it is, or `cv` for all phases'),
    ]);
    expect(faultsOf(['1s,rps=4,cv=1e9'], { arrivals: 'gamma' }).faults).toEqual([
      expect.stringContaining('cv '),
    ]);
  });

  it('refuses a transition before the first phase, and phases without any request, and gives them all the same', () => {
    const first = faultsOf(['1s,rps=4,over=1s']);
    expect(first).toEqual({
      faults: [expect.stringContaining('no phase comes before the first, so it has no transition')],
      isGiven: true,
    });
    expect(first.faults[0]).toContain('"1s,rps=4,over=1s"');
    expect(faultsOf(['1s,rps=0', '1s,load=0'])).toEqual({
      faults: [expect.stringContaining('the rate of every phase is 0')],
      isGiven: true,
    });
  });

  it('refuses what each phase says itself, all at once', () => {
    const { faults, isGiven } = faultsOf(['1s,rps=4'], {
      load: 1,
      rps: ['3'],
      duration: 2,
      traces: ['t.csv'],
    });
    expect(isGiven).toBe(false);
    expect(faults.length).toBe(4);
    for (const name of ['load', 'rps', 'duration', 'traces'])
      expect(
        faults.filter((one) => one.includes('is given by each `phases`') && one.includes(`\`${name}\``))
          .length,
      ).toBe(1);
  });
});

describe('A load of phases', () => {
  const phases: Phase[] = [
    { durationS: 10, transitionS: 0, rps: [2, 6] },
    { durationS: 5, transitionS: 5, rps: [10, 0], cv: 2 },
    { durationS: 2, transitionS: 0, rps: [0, 0] },
  ];

  it('has a length, a highest rate, and a mean rate of each model', () => {
    expect(durationOfPhases(phases)).toBe(22);
    expect(highestRate(phases)).toBe(10);
    // Of the second model, 60 requests come in the first phase, and half of 30 while it ends.
    expect(meanRates(phases, 2)).toEqual([(20 + 30 + 50) / 22, (60 + 15) / 22]);
  });

  it('has a load of each model, whose rate is its own at every time', () => {
    const held = (load: Load) =>
      [...load.startRate].map((rate, i) => [
        load.lengthNs[i]! / 1e9,
        Math.round(rate * 1e9),
        Math.round(load.endRate[i]! * 1e9),
      ]);
    expect(loadsOfPhases(phases, 2).map(held)).toEqual([
      [
        [10, 2, 2],
        [5, 2, 10],
        [5, 10, 10],
        [2, 0, 0],
      ],
      [
        [10, 6, 6],
        [5, 6, 0],
        [5, 0, 0],
        [2, 0, 0],
      ],
    ]);
    expect([...loadsOfPhases(phases, 2)[0]!.startCv]).toEqual([1, 1, 2, 1]);
  });
});
