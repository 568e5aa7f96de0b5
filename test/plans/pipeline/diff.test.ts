import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import type { PipelinePlan } from '../../../src/formats/index.js';
import { diffPipelines, pipelineFieldChanges } from '../../../src/plans/pipeline/diff.js';
import { diffTable } from '../../../src/report/index.js';
import { example, planned } from '../../pipeline/example.js';

const EXAMPLE = new URL('../../../examples/pipeline/expected-plan.json', import.meta.url);

let plan: PipelinePlan;
beforeAll(async () => {
  plan = JSON.parse(await readFile(EXAMPLE, 'utf8')) as PipelinePlan;
});

describe('pipelineFieldChanges()', () => {
  const changed = (change: (copy: PipelinePlan) => unknown, from = plan): string[] => {
    const copy = structuredClone(from);
    change(copy);
    return pipelineFieldChanges(from, copy).map(({ path }) => path);
  };

  it.each<[string, (copy: PipelinePlan) => unknown]>([
    ['/serving/scheduler', (copy) => Object.assign(copy.serving!, { scheduler: 'fifo' })],
    ['/cluster/networkGbps', (copy) => Object.assign(copy.cluster, { networkGbps: 99 })],
    ['/share', (copy) => Object.assign(copy, { share: undefined })],
    ['/shared', (copy) => Object.assign(copy, { shared: undefined })],
    ['/envelope', (copy) => Object.assign(copy, { envelope: undefined })],
    [
      '/stages/face/latencyUsByBatch/0',
      ({ stages }) => {
        stages.find(({ name }) => name === 'face')!.latencyUsByBatch[0] = 1;
      },
    ],
  ])('shows a change of %s', (path, change) => {
    const whole = {
      ...plan,
      share: {},
      shared: {},
      envelope: [{ windowUs: 1, requests: 1 }],
    } as unknown as PipelinePlan;
    expect(changed(change, whole)).toEqual([path]);
  });

  it('reports envelopes by the window that differs most, in one line however many do', () => {
    const windows = (factor: (k: number) => number) =>
      Array.from({ length: 20 }, (_, k) => ({ windowUs: 1000 * 2 ** k, requests: factor(k) * (k + 1) }));
    const of = (envelope: object) => ({ ...plan, envelope }) as PipelinePlan;
    const before = of(windows(() => 10));
    expect(pipelineFieldChanges(before, of(windows((k) => (k === 3 ? 30 : 12))))).toEqual([
      {
        path: '/envelope',
        before: 'at most 40 requests in 8 ms (20 of 20 windows differ)',
        after: 'at most 120 requests in 8 ms (20 of 20 windows differ)',
      },
    ]);
    expect(pipelineFieldChanges(before, of(windows(() => 10).slice(0, 2)))).toEqual([
      {
        path: '/envelope',
        before: 'at most 200 requests in 524288 ms',
        after: 'at most 20 requests in 2 ms',
      },
    ]);
    expect(pipelineFieldChanges(before, of(windows((k) => (k === 0 ? 1 : 10))))).toMatchObject([
      { before: 'at most 10 requests in 1 ms (1 of 20 windows differ)' },
    ]);
    expect(pipelineFieldChanges(before, before)).toEqual([]);
  });

  it('reports a load, but not the path of a trace, and no stage that only one plan has', () => {
    const drawn = (rps: number) => ({ load: { arrivals: 'poisson', rps, duration: '2s' } }) as object;
    expect(changed((copy) => Object.assign(copy, drawn(7)), { ...plan, ...drawn(8) })).toEqual(['/load/rps']);
    const trace = { ...plan, load: { trace: 'a.csv' } } as PipelinePlan;
    expect(changed((copy) => Object.assign(copy, { load: { trace: 'b.csv' } }), trace)).toEqual([]);
    expect(changed(({ stages }) => stages.pop())).toEqual([]);
  });
});

function planFile(change: (plan: PipelinePlan) => void = () => undefined): PipelinePlan {
  const made: PipelinePlan = structuredClone({
    ...planned(example()),
    serving: { scheduler: 'stage-local' },
  });
  change(made);
  return made;
}

describe('diffPipelines()', () => {
  it('says that a plan is the same as itself', () => {
    expect(diffPipelines(planFile(), planFile())).toMatchObject({
      same: true,
      gpusMoved: 0,
      stages: [],
      classes: [],
    });
  });

  it('lists stages, classes and GPUs that differ', () => {
    const asked = example();
    asked.spec.stages[1]!.replicas = 2;
    asked.spec.stages[2]!.batch = 1;
    asked.spec.rps = 100;
    const after: PipelinePlan = { ...planned(asked), serving: { scheduler: 'stage-local' } };
    const found = diffPipelines(planFile(), after);
    expect(found).toMatchObject({
      same: false,
      objective: { kind: 'cost', before: 1.75, after: 2.25 },
      classes: [{ name: 'L4', used: { before: 3, after: 4 } }],
      // face moves one GPU on, and read takes its place.
      gpusMoved: 4,
    });
    expect(found.stages?.map(({ name, batch, replicas }) => [name, batch, replicas])).toEqual([
      ['read', { before: 4, after: 4 }, { before: 1, after: 2 }],
      ['face', { before: 4, after: 1 }, { before: 1, after: 1 }],
    ]);
  });

  it('shows conditions and sources of inputs that change', () => {
    const after = planFile((plan) => {
      plan.stages[0]!.next[0]!.when = { output: 'score', atLeast: 0.5 };
      plan.stages[0]!.next[1]!.when = { output: 'score', index: 2, below: 0.5 };
      plan.stages[3]!.inputs![0]!.from.reverse();
    });
    const found = diffPipelines(planFile(), after);
    expect(found.same).toBe(false);
    expect(
      found.stages?.map(({ name, next, inputs }) => [name, next?.after, inputs?.before, inputs?.after]),
    ).toEqual([
      [
        'detect',
        'read 0.25 where score >= 0.5, face 0.75 where score[2] < 0.5',
        'image from request.image',
        'image from request.image',
      ],
      [
        'merge',
        'none',
        'found from read.found or face.found, boxes from detect.boxes',
        'found from face.found or read.found, boxes from detect.boxes',
      ],
    ]);
  });

  it('reports objectives that come, go or change, of plans that are otherwise alike', () => {
    const asked = (attainment: number) =>
      planFile((plan) => {
        plan.objectives = [{ sloMs: 120, attainment, sampleAttainment: 1 }];
      });
    const changes = [
      diffPipelines(planFile(), asked(0.5)),
      diffPipelines(asked(0.5), asked(0.625)),
      diffPipelines(asked(0.5), asked(0.5)),
      diffPipelines(planFile(), { ...planFile(), attainment: 0.999 }),
    ];
    const { sloMs } = planFile();
    expect(changes.map(({ same, models }) => [same, models[0]?.objectives])).toEqual([
      [false, { before: `99 % in ${sloMs} ms`, after: `99 % in ${sloMs} ms, 50 % in 120 ms` }],
      [
        false,
        {
          before: `99 % in ${sloMs} ms, 50 % in 120 ms`,
          after: `99 % in ${sloMs} ms, 62.5 % in 120 ms`,
        },
      ],
      [true, undefined],
      [false, { before: `99 % in ${sloMs} ms`, after: `99.9 % in ${sloMs} ms` }],
    ]);
    const row = ['objectives', `99 % in ${sloMs} ms`, `99.9 % in ${sloMs} ms`, '—'];
    expect(diffTable(changes[3]!).rows).toEqual([[planFile().name, ...row]]);
  });

  it('shows a stage that comes, and edges that change', () => {
    const before = planFile((plan) => {
      plan.stages.splice(1, 1);
      plan.stages[0]!.next.splice(0, 1);
    });
    const found = diffPipelines(before, planFile());
    expect(found.stages?.map(({ name, devices, next }) => ({ name, devices, next }))).toEqual([
      {
        name: 'detect',
        devices: { before: 'L4', after: 'L4' },
        next: { before: 'face 0.75', after: 'read 0.25 where score >= 0.5, face 0.75' },
      },
      { name: 'read', devices: { after: 'L4' }, next: { after: 'merge' } },
    ]);
  });
});
