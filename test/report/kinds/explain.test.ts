import { describe, expect, it } from 'vitest';
import type { PlanExplanation } from '../../../src/milp/index.js';
import { infeasibilityTable } from '../../../src/report/index.js';
import {
  bindingText,
  classExplanationTable,
  sloExplanationTable,
} from '../../../src/report/kinds/explain.js';

const EXPLANATION: PlanExplanation = {
  complete: true,
  classes: [
    {
      name: 'L4',
      used: 2,
      count: 2,
      binds: true,
      shadowPrice: 12.3,
      oneMore: 10,
      oneLess: undefined,
      whyUnused: undefined,
    },
    {
      name: 'P4',
      used: 0,
      count: 3,
      binds: false,
      shadowPrice: 0,
      oneMore: 0,
      oneLess: 0,
      whyUnused: 'too slow',
    },
  ],
  models: [
    {
      name: 'm',
      sloMs: 50,
      slowestMs: 29,
      allowedMs: 30,
      tighterSloMs: 48.33333333,
      tighterValue: undefined,
      looserSloMs: 51.5,
      looserValue: 130,
    },
  ],
};

describe('bindingText()', () => {
  it('names what binds, and says when it was interrupted', () => {
    expect(bindingText(EXPLANATION)).toBe(
      'binding: the devices of L4, the SLO of m (better from 51.5 ms on)',
    );
    const models = EXPLANATION.models.map((model) => ({ ...model, looserSloMs: 122.3004 }));
    expect(bindingText({ ...EXPLANATION, models })).toMatch('better from 122.301 ms on');
    expect(bindingText({ complete: false, classes: [], models: [] })).toBe(
      'binding: nothing that was tried; interrupted: the explanation is partial',
    );
  });
});

describe('explanation tables', () => {
  it('show what one GPU less gives, and why a class is unused', () => {
    expect(classExplanationTable(EXPLANATION).rows).toEqual([
      ['L4', '2 of 2', '+12.3', '+10.0', 'no plan', ''],
      ['P4', '0 of 3', '0', '0', '0', 'unused: too slow'],
    ]);
  });

  it('round an SLO up, so that the statement about it still holds', () => {
    expect(sloExplanationTable(EXPLANATION).rows).toEqual([
      ['m', '50.0', '29.0', '30.0', '48.334 ms', 'no plan', '51.5 ms', '130'],
    ]);
    const models = [{ name: 'm', sloMs: 1, smallestFeasibleSloMs: 4.0001, feasibleSloMs: undefined }];
    expect(infeasibilityTable({ complete: true, reasons: [], models }).rows).toEqual([
      ['m', '1.00', '4.001 ms', '—'],
    ]);
  });
});
