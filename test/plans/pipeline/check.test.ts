import { describe, expect, it } from 'vitest';
import type { PipelinePlan } from '../../../src/artifacts/index.js';
import { diffPipelines, figureFaults, pipelinePlanFaults } from '../../../src/plans/index.js';
import { diffTable } from '../../../src/report/index.js';
import { example, planned } from '../../pipeline/example.js';

function planFile(change: (plan: PipelinePlan) => void = () => undefined): PipelinePlan {
  const plan: PipelinePlan = structuredClone({
    ...planned(example()),
    serving: { scheduler: 'stage-local' },
  });
  change(plan);
  return plan;
}

function lines(faults: readonly { path: string; message: string }[]): string[] {
  return faults.map(({ path, message }) => `${path}: ${message}`);
}

describe('pipelinePlanFaults()', () => {
  it('finds no fault in plans that the planner makes', () => {
    expect(pipelinePlanFaults(planFile())).toEqual([]);
    const asked = example();
    for (const i of [1, 2]) {
      delete asked.spec.stages[i]!.device;
      delete asked.spec.stages[i]!.replicas;
    }
    asked.spec.shared = [{ device: 'L4', stages: ['face', 'read'], replicas: 3, virtual: 2, standby: 2 }];
    asked.spec.stages[3]!.replicas = 5000;
    expect(pipelinePlanFaults(planned(asked))).toEqual([]);
  });

  it('finds stages in a wrong order, and inputs of later stages', () => {
    const plan = planFile(({ stages }) => stages.reverse());
    expect(lines(pipelinePlanFaults(plan))).toEqual(
      expect.arrayContaining([
        '/stages/3/next/0: leads back to read; put each stage after those that lead to it',
        '/stages/0/inputs/1: comes from detect.boxes, which is no stage before it',
      ]),
    );
  });

  const EDITS: [string, (plan: PipelinePlan) => void, string][] = [
    ['a lost replica', ({ placement }) => placement.pop(), '/stages/3: has 1 replicas, but 0 are placed'],
    [
      'a replica too many',
      ({ placement }) => placement.push(placement[3]!),
      '/stages/3: has 1 replicas, but 2 are placed',
    ],
    [
      'a replica that is down',
      ({ placement }) => Object.assign(placement[0]!, { standby: true }),
      '/stages/0: has 0 standby devices, but 1 are placed',
    ],
    [
      'another class',
      ({ placement }) => Object.assign(placement[0]!, { class: 'T4' }),
      '/placement/0: is T4 in 1; detect is planned for L4 in 1',
    ],
    [
      'other stages',
      ({ placement }) => Object.assign(placement[0]!, { stages: ['detect', 'read'] }),
      '/placement/0: holds detect, read, which no devices of the plan do',
    ],
    [
      'two models on one GPU',
      ({ placement }) => Object.assign(placement[1]!, { server: 'L4-0', gpu: 0 }),
      '/placement: puts more on GPU 0 of L4 than one GPU holds',
    ],
    [
      'a missing latency',
      ({ stages }) => stages[0]!.latencyUsByBatch.pop(),
      '/stages/0/latencyUsByBatch: has no latency at its batch 4',
    ],
    [
      'an unknown class',
      ({ stages }) => Object.assign(stages[0]!, { device: 'A100' }),
      '/stages/0/device: is A100, which is no class of the cluster',
    ],
    [
      'an edge to nowhere',
      ({ stages }) => Object.assign(stages[2]!.next[0]!, { to: 'x' }),
      '/stages/2/next/0: leads to x, and there is no such stage',
    ],
    [
      'a wrong sum',
      ({ stages }) => Object.assign(stages[0]!.next[0]!, { probability: 0.5 }),
      '/exclusive/0: exactly one of them is taken after detect, and their probabilities sum to 1.25 instead of 1',
    ],
    [
      'unlike devices that are shared',
      (plan) => Object.assign(plan, { shared: [{ stages: ['face', 'merge'] }] }),
      '/shared/0: has stages of unlike devices: 1 + 0 L4 in 1; 1 + 0 T4 in 1',
    ],
  ];
  it('finds a GPU within a row that holds another model too', () => {
    const asked = example();
    asked.spec.stages[3]!.replicas = 5000;
    asked.spec.stages[2]!.device = 'T4';
    const plan = planned(asked);
    expect(pipelinePlanFaults(plan)).toEqual([]);
    const face = plan.placement.find(({ stages }) => stages[0] === 'face');
    Object.assign(face!, { server: 'T4-4000' });
    expect(lines(pipelinePlanFaults(plan))).toEqual([
      '/placement: puts more on GPU 4000 of T4 than one GPU holds',
    ]);
  });

  it.each(EDITS)('finds %s', (_, change, expected) => {
    expect(lines(pipelinePlanFaults(planFile(change)))).toContain(expected);
  });
});

describe('figureFaults()', () => {
  it('finds every figure that was changed, with its place, and lets rounding pass', () => {
    const expected = planned(example());
    expect(figureFaults(planFile(), expected)).toEqual([]);
    const plan = planFile((one) => {
      one.throughputRps *= 1 + 1e-12;
      one.stages[1]!.scaleFactor = 0.3;
      one.longestPath.stages[1] = 'read';
      delete one.classes.T4;
      delete one.hourlyCost;
    });
    expect(lines(figureFaults(plan, expected))).toEqual([
      '/hourlyCost: is absent; its spec and profiles give 1.75',
      '/longestPath/stages/1: is "read"; its spec and profiles give "face"',
      '/stages/1/scaleFactor: is 0.3; its spec and profiles give 0.25',
      '/classes/T4: is absent; its spec and profiles give {"used":1}',
    ]);
  });
});

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

  it('tells objectives that come, go or change, of plans that are otherwise alike', () => {
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
