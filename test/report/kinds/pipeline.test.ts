import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { PipelinePlan } from '../../../src/formats/index.js';
import { diffPipelines } from '../../../src/plans/index.js';
import {
  pathTable,
  pipelineHeadline,
  planSetLine,
  planSetParts,
  planSetTable,
  sampleLines,
  setClassTable,
  stageChangeTable,
  stageClassTable,
  stageDiffTable,
  stageTable,
} from '../../../src/report/kinds/pipeline.js';

const PLAN = JSON.parse(
  readFileSync(new URL('../../../examples/pipeline/expected-plan.json', import.meta.url), 'utf8'),
) as PipelinePlan;

it('the headline of a pipeline has rate, cost and longest path, as far as they are known', () => {
  expect(pipelineHeadline(PLAN)).toBe(
    'at most 858 requests/s (the load has 600) on 3 L4 + 9 T4, 5.28 per hour; detect → face → match takes 34.4 ms of the SLO of 100 ms with full batches',
  );
  const { rps: _, hourlyCost: __, ...plan } = PLAN;
  expect(pipelineHeadline(plan)).toMatch(/^at most 858 requests\/s on 3 L4 \+ 9 T4; detect/);
  const one = { requests: 35842, seed: 1, draws: 1, attainment: 0.9953, leastAttainment: 0.9953 };
  const sample = { ...one, p50Ms: 20, p95Ms: 40, p99Ms: 84.48 };
  expect(pipelineHeadline({ ...PLAN, sample })).toMatch(
    /^at most 858 requests\/s \(the load has 600, held on its sample with 99\.53 % in time\) on 3 L4/,
  );
});

it('the lines of a plan that was searched have its sample and its bound, and one that is given has none', () => {
  expect(sampleLines(PLAN)).toEqual([]);
  const one = { requests: 35842, seed: 1, draws: 1, attainment: 0.9953, leastAttainment: 0.9953 };
  const sample = { ...one, p50Ms: 20, p95Ms: 40, p99Ms: 84.48 };
  const objective = { kind: 'cost' as const, value: 5.28, bound: 4.8, gap: 0.1 };
  expect(sampleLines({ ...PLAN, sample, objective })).toEqual([
    "99.53 % of the sample's 35 842 requests in time, p99 84.5 ms",
    '5.28 per hour (bound 4.80, gap 10.00 %) among plans that keep up with the load and hold the sample',
  ]);
  const several = { ...sample, draws: 4, leastAttainment: 0.991 };
  expect(sampleLines({ ...PLAN, sample: several })).toEqual([
    "99.53 % of the sample's 35 842 requests in time, p99 84.5 ms; 99.10 % in the worst of its 4 draws",
  ]);
  const missed = { ...sample, attainment: 1 - 1 / 35842, missesByStage: [{ stage: 'detect', requests: 1 }] };
  expect(sampleLines({ ...PLAN, sample: missed })).toEqual([
    "99.99 % of the sample's 35 842 requests in time, p99 84.5 ms",
    'the others missed at detect (1)',
  ]);
  const objectives = [{ sloMs: 40, attainment: 0.9, sampleAttainment: 0.95 }];
  expect(sampleLines({ ...PLAN, sample, objectives })[1]).toBe(
    '95.00 % of them within 40.0 ms, of 90.00 % that must be',
  );
  expect(sampleLines({ ...PLAN, objective: { ...objective, bound: 5.28, gap: 0 } })).toEqual([
    '5.28 per hour (bound 5.28, gap 0.00 %: optimal) among plans that keep up with the load and hold the sample',
  ]);
  expect(sampleLines({ ...PLAN, objective: { kind: 'cost', value: 0.6, bound: 0 } })).toEqual([
    '5.28 per hour (bound 0, gap unknown) among plans that keep up with the load and hold the sample',
  ]);
});

it('the tables of an explanation have the changes of each stage, and the steps of the search', () => {
  const option = { device: 'k80', batch: 4, replicas: 3 };
  const from = { ...option, device: 'v100' };
  const explanation = {
    path: [{ action: 'change-class' as const, stage: 'slow', from, to: option, hourlyCost: 2.52 }],
    stages: [
      {
        stage: 'slow',
        oneLess: [0.9, 0.5],
        oneMore: [1, 0.7],
        classes: [
          { device: 'cpu' },
          { device: 'k80', option, extraCost: 0 },
          { device: 'v100', option, extraCost: 0.64 },
        ],
      },
    ],
  };
  expect(stageChangeTable(explanation).rows).toEqual([
    ['slow', '90.00 %, 50.00 %', '100.00 %, 70.00 %', 'cpu: misses, 3 × k80 at 4: +0, 3 × v100 at 4: +0.640'],
  ]);
  const [one] = explanation.stages;
  const lacking = {
    ...explanation,
    stages: [{ ...(one as typeof one & object), oneLess: [1], oneLessRps: 83.3 }],
  };
  expect(stageChangeTable(lacking).rows[0]?.[1]).toBe('100.00 %, but at most 83.3/s in the long run');
  expect(pathTable(explanation).rows).toEqual([['1', 'slow', '3 × v100 at 4', '3 × k80 at 4', '2.52']]);
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
  expect(stageTable(PLAN).columns).toContain('replicas on standby');
  expect(stageClassTable(PLAN).columns).toEqual([
    'class',
    'devices in use',
    'devices on standby',
    'devices there are',
  ]);
});

it('several pipelines that share a cluster have a line, a table of their plans, and one of the classes', () => {
  const set = {
    kind: 'plan-set' as const,
    version: '1.0',
    status: 'feasible' as const,
    objective: { kind: 'cost' as const, value: 5, bound: 4, gap: 0.25 },
    plans: [
      { name: 'a', hourlyCost: 4, attainment: 0.995, used: { L4: 2, T4: 0 } },
      { name: 'b', hourlyCost: 1, attainment: 1, used: { L4: 1, T4: 3 } },
    ],
    classes: { L4: { used: 3, count: 3 }, T4: { used: 3 } },
  };
  expect(planSetLine(set)).toBe('2 pipelines for 5.00 per hour (bound 4.00, gap 25.00 %) on 3 L4 + 3 T4');
  expect(planSetLine({ ...set, objective: { kind: 'cost', value: 5, bound: 0 } })).toBe(
    '2 pipelines for 5.00 per hour (bound 0, gap unknown) on 3 L4 + 3 T4',
  );
  expect(planSetTable(set).rows).toEqual([
    ['a', '4.00', '99.50 %', '2 L4'],
    ['b', '1.00', '100.00 %', '1 L4 + 3 T4'],
  ]);
  const written = { ...set, plans: set.plans.map((one) => ({ ...one, file: `set/${one.name}.plan.json` })) };
  expect(planSetParts(written, []).slice(-2)).toEqual([
    'plan of a: set/a.plan.json',
    'plan of b: set/b.plan.json',
  ]);
  expect(setClassTable(set).rows).toEqual([
    ['L4', '3', '3'],
    ['T4', '3', '—'],
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
