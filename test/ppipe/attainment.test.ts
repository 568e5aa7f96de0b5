import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { Attainment, largestLoad, readAttainment, type Setting } from '../../bench/ppipe/attainment.js';
import { type ProfileOf, profilesIn, publishedInstances } from '../../bench/ppipe/plans.js';
import { cases } from '../cases.js';

const SHARED = new URL('../../../shared/', import.meta.url);
const FOLDER = new URL('data/ppipe/', SHARED);
const OPTIONS = { runs: 2, durationS: 30, seed: 0 };

describe.runIf(existsSync(SHARED))('published attainments', () => {
  test('are reached under the published rules, on a sample over all plans and schedulers', () => {
    const profileOf = profilesIn(FOLDER);
    const instances = publishedInstances(FOLDER);
    const small = readAttainment(FOLDER).filter(({ offeredRps }) => offeredRps < 1500);
    // No stride has a factor in common with the twenty load factors.
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
      // In four of the published rows, floating point is off by 1.
      expect(Math.abs(attainment.offeredRps(cell.loadFactor) - cell.offeredRps)).toBeLessThanOrEqual(1);
      const off = Math.abs(attainment.at(cell.offeredRps).attainment - cell.attainment);
      expect({ ...cell, met: off <= 3 * cell.sd + 0.005 || off }).toMatchObject({ met: true });
    }
  });

  test('largestLoad() finds the same step as trying all of them', () => {
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
});
