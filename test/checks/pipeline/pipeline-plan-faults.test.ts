import { describe, expect, it } from 'vitest';
import { pipelinePlanFaults } from '../../../src/checks/index.js';
import type { PipelinePlan } from '../../../src/formats/index.js';
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
