import { describe, expect, it } from 'vitest';
import type { FurtherObjective } from '../../src/formats/index.js';
import { objectiveNotes, objectivesOf, shareWithin } from '../../src/pipeline/index.js';
import { example, faultLines } from './example.js';

const asked = (...objectives: FurtherObjective[]) => ({ sloMs: 100, attainment: 0.99, objectives });

describe('objectivesOf()', () => {
  it('begins with the SLO by which requests are judged, of 0.99 of the requests where nobody says', () => {
    expect(objectivesOf({ sloMs: 100 })).toEqual([{ sloMs: 100, attainment: 0.99 }]);
    const further = { sloMs: 40, attainment: 0.5 };
    expect(objectivesOf(asked(further))).toEqual([{ sloMs: 100, attainment: 0.99 }, further]);
  });
});

describe('objectiveNotes()', () => {
  it('is silent where a smaller share has a shorter SLO, or a larger one a longer SLO', () => {
    expect(objectiveNotes(asked({ sloMs: 40, attainment: 0.5 }, { sloMs: 200, attainment: 0.999 }))).toEqual(
      [],
    );
  });

  it('names an objective that a shorter SLO of as many requests makes needless, also the SLO itself', () => {
    expect(objectiveNotes(asked({ sloMs: 120, attainment: 0.9 }))).toEqual([
      '90 % within 120 ms follow from 99 % within 100 ms, and ask for nothing more',
    ]);
    expect(objectiveNotes(asked({ sloMs: 80, attainment: 0.995 }))).toEqual([
      '99 % within 100 ms follow from 99.5 % within 80 ms, and ask for nothing more',
    ]);
  });

  it('names one of two that are alike', () => {
    const alike = { sloMs: 40, attainment: 0.5 };
    expect(objectiveNotes(asked(alike, alike))).toEqual([
      '50 % within 40 ms follow from 50 % within 40 ms, and ask for nothing more',
    ]);
  });
});

describe('shareWithin()', () => {
  it('counts a request that takes exactly the SLO', () => {
    expect(shareWithin(Float64Array.of(1e6, 2e6, 2e6 + 1, 3e6), 2)).toBe(0.5);
  });
});

describe('objectives of a spec', () => {
  it('are refused where the method looks at no request', () => {
    const problem = example();
    problem.spec.objectives = [{ sloMs: 10, attainment: 0.5 }];
    expect(faultLines(problem)).toEqual([
      '/objectives: are for planner.method inferline or exact: given looks at sloMs alone, and at no request of the sample',
    ]);
  });
});
