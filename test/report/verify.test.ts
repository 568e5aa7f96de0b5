import { expect, it } from 'vitest';
import type { Verification } from '../../src/formats/index.js';
import {
  causeLines,
  correctedLines,
  verifiedExecutionTable,
  verifyTable,
  withinLines,
} from '../../src/report/index.js';

const attainment = (simulated: number, live: number) => ({
  name: 'attainment' as const,
  simulated,
  live,
  difference: live - simulated,
});

const verification: Verification = {
  kind: 'verification',
  version: '1.0',
  requests: 500,
  figures: [
    { name: 'attainment', simulated: 0.998, live: 0.952, difference: -0.046 },
    { name: 'p99LatencyMs', simulated: 68, live: 81, difference: 13 },
    { name: 'meanLatencyMs', simulated: 30, live: 36, difference: 6 },
    { name: 'p95LatencyMs', simulated: 60, live: 55, difference: -5 },
    { name: 'batches', simulated: 1200 },
  ],
  models: [],
  executions: [
    {
      model: 'm',
      pipeline: 1,
      partition: 0,
      class: 'slow',
      virtual: 2,
      batch: 4,
      simulatedBatches: 10,
      liveBatches: 1200,
      plannedUs: 40_000,
      measuredUs: 44_000,
      factor: 1.1,
    },
    {
      model: 'm',
      pipeline: 1,
      partition: 0,
      class: 'slow',
      virtual: 2,
      batch: 3,
      simulatedBatches: 1,
      liveBatches: 0,
    },
  ],
  causes: {
    frontMs: 2.5,
    attainment: { executions: -0.03, front: -0.02, queueing: 0.004 },
    meanLatencyMs: { executions: 3, front: 2.5, queueing: 0.5 },
    p95LatencyMs: { executions: -6, front: 2.5, queueing: -1.5 },
  },
  within: { allowed: 0.04, held: false },
  notes: [],
};

it('verifyTable() has simulated and live figures side by side, with their difference', () => {
  expect(verifyTable(verification.figures).rows).toEqual([
    ['attainment', '99.80 %', '95.20 %', '−4.60 points'],
    ['latency p99', '68.0 ms', '81.0 ms', '+13.0 ms'],
    ['latency mean', '30.0 ms', '36.0 ms', '+6.00 ms'],
    ['latency p95', '60.0 ms', '55.0 ms', '−5.00 ms'],
    ['batches', '1 200', '—', '—'],
  ]);
});

it('verifiedExecutionTable() has planned and measured times, and dashes for what was not measured', () => {
  expect(verifiedExecutionTable(verification).rows).toEqual([
    ['m', '1/0', '1/2 slow', '4', '40.0', '44.0', '1.10', '10', '1 200'],
    ['m', '1/0', '1/2 slow', '3', '—', '—', '—', '1', '0'],
  ]);
});

it('causeLines() says what each part of a difference comes from', () => {
  expect(causeLines(verification).slice(0, 2)).toEqual([
    'attainment −4.60 points: −3.00 points from executions, −2.00 points from the front, +0.40 points from queueing',
    'mean latency +6.00 ms: +3.00 ms from executions, +2.50 ms from the front, +0.500 ms from queueing',
  ]);
  const { causes: _unknown, ...mute } = verification;
  expect(causeLines(mute)).toEqual([]);
});

it('withinLines() says whether the attainments are near enough', () => {
  expect(withinLines(verification)).toEqual([
    'the attainments differ by 4.60 points, more than the 4.00 that are allowed',
  ]);
  expect(withinLines({ ...verification, within: { allowed: 0.05, held: true } })[0]).toContain(
    'within the 5.00',
  );
});

it('correctedLines() says what was corrected and what was not', () => {
  const cells = [{ class: 'a', virtual: 1, batch: 1, factor: 1.25, measured: 9 }];
  const kept = [{ class: 'a', virtual: 2, batch: 4 }];
  expect(correctedLines({ model: 'm', path: 'p.json', cells, kept })).toEqual([
    'm: a batch 1 × 1.25',
    'm: not measured, and left as it was: 1/2 a batch 4',
  ]);
  expect(correctedLines({ model: 'm', path: 'p.json', cells, kept: [] })).toEqual(['m: a batch 1 × 1.25']);
});

it('withinLines() names each model that is further off than is allowed', () => {
  const models = [
    { name: 'a', figures: [attainment(0.9, 0.8)] },
    { name: 'b', figures: [attainment(0.8, 0.83)] },
    { name: 'c', figures: [attainment(0.8, 0.9)] },
  ];
  const figures = [attainment(0.85, 0.85)];
  expect(withinLines({ ...verification, figures, models })).toEqual([
    'the attainments differ by 0.00 points, within the 4.00 that are allowed',
    'the attainments of a differ by 10.00 points, more than the 4.00 that are allowed',
    'the attainments of c differ by 10.00 points, more than the 4.00 that are allowed',
  ]);
});
