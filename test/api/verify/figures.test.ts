import { expect, it } from 'vitest';
import { differenceCheck, verifiedAnswers } from '../../../src/api/verify/figures.js';
import type { LoadDocument, SimulationReport } from '../../../src/formats/index.js';

const attainments = (simulated: number, live?: number) => [
  { name: 'dropRate' as const, simulated: 0, live: 1 },
  { name: 'attainment' as const, simulated, ...(live === undefined ? {} : { live }) },
];

it('differenceCheck() judges the distance of the attainments, and takes one that is absent for 0', () => {
  const verdict = (allowed: number, simulated: number, live?: number) =>
    differenceCheck(allowed, attainments(simulated, live)).held;
  expect(verdict(0.05, 0.9, 0.9)).toBe(true);
  expect(verdict(0.05, 0.95, 0.85)).toBe(false);
  expect(verdict(0.11, 0.95, 0.85)).toBe(true);
  expect(verdict(0.05, 0.9)).toBe(false);
  expect(differenceCheck(0.25, attainments(0.75, 0.5), { model: 'a' })).toEqual({
    what: 'attainmentDifference',
    model: 'a',
    threshold: 0.25,
    value: 0.25,
    held: true,
  });
});

it('verifiedAnswers() sets live shares beside simulated ones, in the order of the cascade', () => {
  const cascade = { answeredBy: ['a', 'b', 'c'].map((stage, i) => ({ stage, share: [0.7, 0.2, 0.1][i] })) };
  const simulated = { cascade } as SimulationReport;
  const answeredBy = [
    { stage: 'c', rows: 3, share: 0.75 },
    { stage: 'a', rows: 1, share: 0.25 },
  ];
  expect(verifiedAnswers(simulated, { answeredBy } as LoadDocument).answeredBy).toEqual([
    { stage: 'a', simulated: 0.7, live: 0.25 },
    { stage: 'b', simulated: 0.2, live: 0 },
    { stage: 'c', simulated: 0.1, live: 0.75 },
  ]);
  expect(verifiedAnswers(simulated, {} as LoadDocument)).toEqual({});
  expect(verifiedAnswers({} as SimulationReport, { answeredBy } as LoadDocument)).toEqual({});
});
