import { describe, expect, it } from 'vitest';
import { pipelinePlanFaults } from '../../src/checks/index.js';
import type { PipelinePlan } from '../../src/formats/index.js';
import { grantedStandby, standbyOf, withStandby } from '../../src/pipeline/index.js';
import { pipelineOf } from '../pipeline-plans.js';

const stages = [{ name: 'a', next: [{ to: 'b', transferBytes: 0 }] }, { name: 'b' }];
const FOUND = { loadFactor: 2, seed: 201, draws: 1 };
const limited = (count: number | undefined, used: number): Partial<PipelinePlan> => ({
  cluster: { devices: { cpu: { ...(count === undefined ? {} : { count }), perServer: 2, hourlyCost: 2 } } },
  classes: { cpu: { used, ...(count === undefined ? {} : { count }) } },
  hourlyCost: 2 * used,
});
const wanted = (a: number, b: number) => new Map([['a', a] as const, ['b', b] as const]);

describe('grantedStandby()', () => {
  const plan = (count: number | undefined) => pipelineOf(stages, [['a'], ['b'], ['b']], limited(count, 3));
  const granted = (count: number | undefined, a: number, b: number) =>
    [...grantedStandby(plan(count), wanted(a, b)).values()].join(' ');

  it('gives each set what it lacks of what its tuner had in use', () => {
    expect(granted(undefined, 4, 5)).toBe('3 3');
    expect(granted(20, 1, 2)).toBe('0 0');
    expect(granted(undefined, 0, 0)).toBe('0 0');
  });

  it('never gives more GPUs of a class than are left, and shares them by what each set wants', () => {
    for (let count = 3; count <= 12; count++) {
      const [a, b] = granted(count, 4, 8).split(' ').map(Number) as [number, number];
      expect(a + b).toBe(Math.min(9, count - 3));
      expect(Math.abs((1 + a) / 4 - (2 + b) / 8)).toBeLessThanOrEqual(1 / 4 + 1e-9);
    }
  });

  it('gives sets that share devices to several stages what they lack once', () => {
    const shared = pipelineOf(stages, [['a', 'b']], { ...limited(4, 1), shared: [{ stages: ['a', 'b'] }] });
    expect([...grantedStandby(shared, new Map([['a', 9]]))]).toEqual([['a', 3]]);
  });
});

describe('withStandby()', () => {
  it('puts the devices on GPUs that nothing stands on, and reports what all cost together', () => {
    const plan = pipelineOf(stages, [['a'], ['b'], ['b']], limited(9, 3));
    plan.placement[2] = { ...plan.placement[2]!, server: 'cpu-2', gpu: 1 };
    const found = withStandby(plan, wanted(2, 1), FOUND);
    expect(found).toMatchObject({ standby: FOUND, hourlyCost: 6, mostHourlyCost: 12 });
    expect(found.classes).toEqual({ cpu: { used: 3, standby: 3, count: 9 } });
    const seats = found.placement
      .filter(({ standby }) => standby)
      .map(({ server, gpu }) => `${server}/${gpu}`);
    expect(seats).toEqual(['cpu-0/1', 'cpu-1/1', 'cpu-2/0']);
    // The standby devices contradict nothing beyond what the made plan itself does.
    expect(pipelinePlanFaults(found)).toEqual(pipelinePlanFaults(plan));
    expect([...standbyOf(found)]).toEqual([
      ['a', 2],
      ['b', 1],
    ]);
  });

  it('fills GPUs with virtual ones, and leaves a plan without standby devices as it was', () => {
    const plan = pipelineOf([{ name: 'a' }], [['a']], limited(4, 1));
    plan.stages[0]!.virtual = 2;
    plan.placement[0]!.virtual = 2;
    const found = withStandby(plan, new Map([['a', 3]]), FOUND);
    expect(found.placement.slice(1).map(({ server, gpu }) => `${server}/${gpu}`)).toEqual([
      ...['cpu-0/1', 'cpu-0/1', 'cpu-1/0'],
    ]);
    expect(found.classes.cpu).toEqual({ used: 1, standby: 2, count: 4 });
    // The standby devices contradict nothing beyond what the made plan itself does.
    expect(pipelinePlanFaults(found)).toEqual(pipelinePlanFaults(plan));
    expect(withStandby(plan, new Map(), FOUND)).toEqual({ ...plan, standby: FOUND });
  });
});
