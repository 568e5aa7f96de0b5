import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { Attainment, largestLoad, readAttainment, type Setting } from '../../bench/ppipe/attainment.js';
import { type ProfileOf, profilesIn, publishedInstances } from '../../bench/ppipe/plans.js';
import { cases } from '../cases.js';
import { MADE_INSTANCE, MADE_RPS, madeProfileOf } from './made-instance.js';

const SHARED = new URL('../../../shared/', import.meta.url);
const FOLDER = new URL('data/ppipe/', SHARED);
const OPTIONS = { runs: 2, durationS: 30, seed: 0 };

describe('Attainment of a generated instance', () => {
  const at = (setting: Pick<Setting, 'plan' | 'scheduler' | 'rules'>, durationS = 2) =>
    new Attainment({ ...setting, instance: MADE_INSTANCE, model: 1 }, madeProfileOf, {
      runs: 1,
      durationS,
      seed: 0,
    });

  test.each([
    ['reservation', 'own'],
    ['reservation', 'published'],
    ['reactive', 'own'],
    ['reactive', 'published'],
  ] as const)(
    'is nearly 1 at half of the load, and at most what the plan serves at twice the load, under %s and %s rules',
    (scheduler, rules) => {
      const attainment = at({ plan: 'reference', scheduler, rules });
      expect(attainment.offeredRps(0.5)).toBe(1000);
      expect(attainment.at(1000).attainment).toBeGreaterThan(0.99);
      const over = attainment.at(2 * MADE_RPS.reference);
      expect(over.attainment + over.dropped + over.late).toBeCloseTo(1, 9);
      expect(over.attainment).toBeLessThan(0.52);
      expect(over.requests / (2 * MADE_RPS.reference * 2)).toBeCloseTo(1, 1);
    },
  );

  test('largestLoad() finds the same step as a trial of every step', () => {
    const attainment = at({ plan: 'no-partitioning', scheduler: 'reservation', rules: 'own' });
    const found = Math.round(100 * largestLoad(attainment, 0.5));
    const reached = (steps: number) => attainment.at(attainment.offeredRps(steps / 100)).attainment >= 0.99;
    // The plan without partitions serves a third of what the reference plan does.
    expect(found).toBeGreaterThan(15);
    expect(found).toBeLessThan(36);
    expect([reached(found), reached(found + 1)]).toEqual([true, false]);
    expect(largestLoad(attainment, 0.1)).toBe(0.1);
  });
});

describe.runIf(existsSync(SHARED))('published attainments', () => {
  test('are reached under the published rules, on a sample over all plans and schedulers', () => {
    const profileOf = profilesIn(FOLDER);
    const instances = publishedInstances(FOLDER);
    const small = readAttainment(FOLDER).filter(({ offeredRps }) => offeredRps < 1500);
    // The strides have no factor in common with the number of load factors, twenty.
    const sample = small.filter((_, i) => i % cases(909, 117) === 0);
    const kinds = new Set(sample.map(({ plan, scheduler }) => `${plan} ${scheduler}`));
    expect([...kinds].sort()).toEqual([
      'dart-r reservation',
      'no-partitioning reservation',
      'reference reactive',
      'reference reservation',
    ]);
    for (const cell of sample) {
      const instance = instances.find(({ id }) => id === cell.instance) as Setting['instance'];
      const attainment = new Attainment({ ...cell, instance, rules: 'published' }, profileOf, OPTIONS);
      // Four of the published rows are off by 1 because of floating point.
      expect(Math.abs(attainment.offeredRps(cell.loadFactor) - cell.offeredRps)).toBeLessThanOrEqual(1);
      const off = Math.abs(attainment.at(cell.offeredRps).attainment - cell.attainment);
      expect({ ...cell, met: off <= 3 * cell.sd + 0.005 || off }).toMatchObject({ met: true });
    }
  });
});

if (existsSync(SHARED))
  test('largestLoad() finds the same step as a trial of every step, on a published instance', () => {
    const profileOf: ProfileOf = profilesIn(FOLDER);
    const instance = publishedInstances(FOLDER).find(
      ({ models }) => models.length === 3,
    ) as Setting['instance'];
    const setting = {
      instance,
      model: 0,
      plan: 'no-partitioning',
      scheduler: 'reservation',
      rules: 'own',
    } as const;
    const attainment = new Attainment(setting, profileOf, { ...OPTIONS, runs: 1, durationS: cases(10, 30) });
    const found = largestLoad(attainment, 1.2);
    const reached = (steps: number) => attainment.at(attainment.offeredRps(steps / 100)).attainment >= 0.99;
    expect([reached(Math.round(100 * found)), reached(Math.round(100 * found) + 1)]).toEqual([true, false]);
  });
