import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { PipelinePlan } from '../../src/artifacts/index.js';
import { diffPipelines } from '../../src/pipeline/index.js';
import { pipelineHeadline, stageClassTable, stageDiffTable, stageTable } from '../../src/report/index.js';

const PLAN = JSON.parse(
  readFileSync(new URL('../../examples/pipeline/expected-plan.json', import.meta.url), 'utf8'),
) as PipelinePlan;

it('the headline of a pipeline has rate, cost and longest path, as far as they are known', () => {
  expect(pipelineHeadline(PLAN)).toBe(
    'at most 857 requests/s (the load has 600), 5.28 per hour; detect → face → match takes 34.4 ms of the SLO of 100 ms with full batches',
  );
  const { rps: _, hourlyCost: __, ...plan } = PLAN;
  expect(pipelineHeadline(plan)).toMatch(/^at most 857 requests\/s; detect/);
});

it('the tables of a pipeline list stages with those that share their devices, and GPUs with standby ones', () => {
  expect(stageTable(PLAN).rows.map((row) => row.slice(0, 4))).toEqual([
    ['detect', '3 × L4', '1', '4'],
    ['scene', '4 × T4', '0', '4'],
    ['plate', '5 × T4 with face, match', '0', '4'],
    ['face', '5 × T4 with plate, match', '0', '4'],
    ['match', '5 × T4 with plate, face', '0', '8'],
  ]);
  expect(stageClassTable(PLAN).rows).toEqual([
    ['L4', '3', '1', '6'],
    ['T4', '9', '0', '—'],
  ]);
});

it('the table of differences of pipelines has a row for every figure that differs', () => {
  const after = structuredClone(PLAN);
  Object.assign(after.stages[0]!, { replicas: 4, virtual: 2 });
  after.stages[3]!.next = [];
  const diff = { kind: 'plan-diff' as const, version: '1.0', ...diffPipelines(PLAN, after) };
  expect(stageDiffTable(diff).rows).toEqual([
    ['detect', 'devices', 'L4 → 1/2 L4'],
    ['detect', 'replicas', '3 → 4'],
    ['face', 'next', 'match → none'],
  ]);
});
