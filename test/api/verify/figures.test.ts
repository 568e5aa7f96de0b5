import { expect, it } from 'vitest';
import { verifiedAnswers, withinOf } from '../../../src/api/verify/figures.js';
import type { LoadDocument, SimulationReport } from '../../../src/artifacts/index.js';

const attainments = (simulated: number, live?: number) => [
  { name: 'dropRate' as const, simulated: 0, live: 1 },
  { name: 'attainment' as const, simulated, ...(live === undefined ? {} : { live }) },
];

it('withinOf() judges every model, so that differences in opposite directions do not cancel', () => {
  const all = attainments(0.9, 0.9);
  expect(withinOf(0.05, [all])).toEqual({ allowed: 0.05, held: true });
  expect(withinOf(0.05, [all, attainments(0.95, 0.85), attainments(0.85, 0.95)]).held).toBe(false);
  expect(withinOf(0.11, [all, attainments(0.95, 0.85), attainments(0.85, 0.95)]).held).toBe(true);
  expect(withinOf(0.05, [attainments(0.9, 0.8)]).held).toBe(false);
  expect(withinOf(0.05, [attainments(0.9)]).held).toBe(false);
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
