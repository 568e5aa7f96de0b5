import { describe, expect, it } from 'vitest';
import { countedPlan, recountFaults } from '../../../src/checks/recount/index.js';
import type { PipelinePlan } from '../../../src/formats/index.js';
import { pipelineOf } from '../../pipeline-plans.js';

/** A plan of two stages on two servers of two GPUs, one of three devices on standby. */
function planOf(more: Partial<PipelinePlan> = {}): PipelinePlan {
  const [a, b] = pipelineOf([{ name: 'a' }, { name: 'b' }], []).stages as PipelinePlan['stages'];
  const seat = { class: 'cpu', virtual: 1 };
  return pipelineOf([], [], {
    cluster: { devices: { cpu: { count: 5, taken: 1, perServer: 2, hourlyCost: 0.5, memoryGiB: 1 } } },
    hourlyCost: 1.5,
    classes: { cpu: { used: 3, standby: 1, count: 4 } },
    stages: [
      { ...(a as PipelinePlan['stages'][number]), replicas: 2, standby: 1, weightBytes: 2 ** 30 },
      { ...(b as PipelinePlan['stages'][number]), replicas: 1 },
    ],
    placement: [
      { ...seat, server: 'cpu-0', gpu: 0, stages: ['a'], count: 2 },
      { ...seat, server: 'cpu-1', gpu: 0, stages: ['b'] },
      { ...seat, server: 'cpu-1', gpu: 1, stages: ['a'], standby: true },
    ],
    ...more,
  });
}

const paths = (plan: PipelinePlan): string[] => recountFaults(plan).map(({ path }) => path);

describe('recountFaults()', () => {
  it('finds nothing in a plan whose devices are those that it says', () => {
    expect(recountFaults(planOf())).toEqual([]);
  });

  it('finds more GPUs than are free, with those taken and those on standby', () => {
    const { devices } = planOf().cluster;
    const scarce = (count: number, taken: number) =>
      planOf({
        cluster: { devices: { cpu: { ...(devices.cpu as object), count, taken } } },
        classes: { cpu: { used: 3, standby: 1, count: count - taken } },
      });
    expect(recountFaults(scarce(4, 0))).toEqual([]);
    for (const short of [scarce(3, 0), scarce(4, 1)])
      expect(recountFaults(short).map(({ message }) => message)).toContain(
        'has 3 GPUs in use and 1 on standby, and 3 are free',
      );
  });

  it('finds replicas, standby devices, GPUs of a class and prices that are stated otherwise than they are placed', () => {
    const [a, b] = planOf().stages as [PipelinePlan['stages'][number], PipelinePlan['stages'][number]];
    expect(paths(planOf({ stages: [{ ...a, replicas: 3 }, b] }))).toEqual(['/stages/0/replicas']);
    expect(paths(planOf({ stages: [{ ...a, standby: 2 }, b] }))).toEqual(['/stages/0/standby']);
    expect(paths(planOf({ classes: { cpu: { used: 2, standby: 1, count: 4 } } }))).toEqual([
      '/classes/cpu/used',
    ]);
    expect(paths(planOf({ classes: { cpu: { used: 3, count: 4 } } }))).toEqual(['/classes/cpu/standby']);
    expect(paths(planOf({ classes: { cpu: { used: 3, standby: 1, count: 5 } } }))).toEqual([
      '/classes/cpu/count',
    ]);
    expect(paths(planOf({ hourlyCost: 1 }))).toEqual(['/hourlyCost']);
    expect(paths(planOf({ objective: { kind: 'cost', value: 1, bound: 1, gap: 0 } }))).toEqual([
      '/objective/value',
    ]);
  });

  it('finds a GPU that its class or server does not have, holds too much, or has too little memory', () => {
    const seats = planOf().placement;
    const moved = (server: string, gpu: number) =>
      planOf({ placement: [...seats.slice(0, 2), { ...seats[2]!, server, gpu }] });
    expect(paths(moved('cpu-2', 0))).toEqual(['/placement']);
    expect(paths(moved('cpu-1', 2))).toContain('/placement/2');
    expect(recountFaults(moved('cpu-0', 1))[0]).toMatchObject({ path: '/classes/cpu/standby' });
    expect(recountFaults(moved('cpu-0', 1)).at(-1)?.message).toContain('2 times as much on GPU 1 of cpu');
    const [a, b] = planOf().stages as [PipelinePlan['stages'][number], PipelinePlan['stages'][number]];
    expect(paths(planOf({ stages: [{ ...a, weightBytes: 2 ** 30 + 8 }, b] }))).toContain('/placement');
  });

  it('counts virtual GPUs as GPUs only once each', () => {
    const seat = { class: 'cpu', virtual: 2, server: 'cpu-0', gpu: 0, stages: ['a'] };
    const [a] = planOf().stages as [PipelinePlan['stages'][number]];
    const halves = planOf({
      stages: [{ ...a, virtual: 2, replicas: 3, standby: 0, weightBytes: 2 ** 29 }],
      hourlyCost: 1,
      classes: { cpu: { used: 2, count: 4 } },
      placement: [seat, seat, { ...seat, gpu: 1 }],
    });
    expect(recountFaults(halves)).toEqual([]);
    expect(paths({ ...halves, stages: [{ ...halves.stages[0]!, weightBytes: 2 ** 29 + 8 }] })).toContain(
      '/placement',
    );
  });
});

describe('countedPlan()', () => {
  it('gives a right plan back, and throws for one that uses too much or costs less than its bound', () => {
    const plan = planOf({ status: 'optimal', objective: { kind: 'cost', value: 1.5, bound: 1.5, gap: 0 } });
    expect(countedPlan(plan)).toBe(plan);
    expect(() =>
      countedPlan({ ...plan, objective: { kind: 'cost', value: 1.5, bound: 2, gap: -0.25 } }),
    ).toThrow('is not written: /objective/bound is 2, which the value 1.5 beats');
    expect(() => countedPlan({ ...plan, placement: plan.placement.slice(1) })).toThrow('is not written');
  });
});
