import { describe, expect, it } from 'vitest';
import type { PipelinePlan } from '../../../src/formats/index.js';
import { withSpares } from '../../../src/plans/index.js';
import { pipelineOf } from '../../pipeline-plans.js';

/** added lists the standby devices that a plan gets, as `stages: server/gpu (count)`. */
function added(plan: PipelinePlan): string[] {
  const spared = withSpares(plan);
  expect(spared.placement.slice(0, plan.placement.length)).toEqual(plan.placement);
  return spared.placement
    .slice(plan.placement.length)
    .map(({ stages, server, gpu, standby, class: name }) => {
      expect([standby, name]).toEqual([true, 'cpu']);
      return `${stages.join(' ')}: ${server}/${gpu}`;
    });
}

const stages = [{ name: 'a', next: [{ to: 'b', transferBytes: 0 }] }, { name: 'b' }];
const limited = (count: number, used: number): Partial<PipelinePlan> => ({
  cluster: { devices: { cpu: { count, perServer: 2 } } },
  classes: { cpu: { used, count } },
});

describe('withSpares()', () => {
  it('gives each stage the GPUs that are left of its class, after those of the plan', () => {
    expect(added(pipelineOf(stages, [['a'], ['b'], ['b']], limited(5, 3)))).toEqual([
      'a: cpu-2/1',
      'a: cpu-3/0',
      'b: cpu-3/1',
      'b: cpu-4/0',
    ]);
    expect(added(pipelineOf(stages, [['a'], ['b'], ['b']], limited(3, 3)))).toEqual([]);
  });

  it('gives each set of shared devices, and not each of its stages', () => {
    const plan = pipelineOf(stages, [['a', 'b']], { ...limited(2, 1), shared: [{ stages: ['a', 'b'] }] });
    expect(added(plan)).toEqual(['a b: cpu-0/1']);
  });

  it('makes 16 devices, or 8 times the replicas, where the class has no limit', () => {
    const devices = [['a'], ...Array.from({ length: 3 }, () => ['b'])];
    const counts = (plan: PipelinePlan) =>
      ['a', 'b'].map((name) => withSpares(plan).placement.filter((place) => place.stages[0] === name).length);
    expect(counts(pipelineOf(stages, devices))).toEqual([16, 24]);
    expect(counts(pipelineOf(stages, devices, limited(1e6, 4)))).toEqual([16, 24]);
  });

  it('leaves a stage the standby devices that its spec gave it', () => {
    const plan = pipelineOf(stages, [['a'], ['a'], ['b']], limited(4, 2));
    Object.assign(plan.stages[0]!, { replicas: 1, standby: 1 });
    plan.placement[1]!.standby = true;
    plan.classes.cpu!.standby = 1;
    expect(added(plan)).toEqual(['b: cpu-2/1']);
  });

  it('fills GPUs with virtual ones', () => {
    const plan = pipelineOf([{ name: 'a' }], [['a']], limited(2, 1));
    plan.stages[0]!.virtual = 2;
    expect(added(plan)).toEqual(['a: cpu-0/1', 'a: cpu-0/1']);
  });
});
