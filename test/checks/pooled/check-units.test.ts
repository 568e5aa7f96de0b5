import { describe, expect, test } from 'vitest';
import { checkPlan } from '../../../src/checks/pooled/check.js';
import { unitsOf } from '../../../src/checks/pooled/check-units.js';
import type { PlannedPartition, Profile } from '../../../src/formats/index.js';
import type { PlanBody, PooledProblem } from '../../../src/milp/problem.js';

/** Three blocks of the layers a, b and d, c, and none that is named. */
const PROFILE = {
  blocks: [
    { cutBytes: 10, nodes: ['a'] },
    { cutBytes: 20, nodes: ['b', 'd'], weightBytes: 7 },
    { cutBytes: 0, nodes: ['c', 'unknown'] },
  ],
  layers: [
    { name: 'a', cutBytes: 1, weightBytes: 100 },
    { name: 'b', cutBytes: 2 },
    { name: 'c', cutBytes: 3, weightBytes: 300 },
    { name: 'd', cutBytes: 4, weightBytes: 400 },
  ],
  devices: {
    A: {
      blockLatencyUs: { 1: { 1: [10, 40, 30], 2: [20, 80, 0.25] }, 2: { 1: [1, 2, 3] } },
      layerLatencyUs: { 1: { 1: [10, 30, 30, 10], 4: [10, null, 30, 10] } },
    },
    B: { blockLatencyUs: { 1: { 1: [10, 40, 30] } } },
  },
} as unknown as Profile;

function units(device: string, virtual: number, range: [number, number], by: 'block' | 'layer' = 'layer') {
  const ranges = by === 'layer' ? { blocks: [0, 1], layers: range } : { blocks: range, layers: [0, 1] };
  const partition = { ...ranges, device, virtual } as unknown as PlannedPartition;
  return unitsOf(partition, PROFILE, by);
}

describe('unitsOf()', () => {
  test('sums blocks, each of them at least 1 µs', () => {
    expect(units('A', 1, [0, 2], 'block').latencyUs(1)).toBe(50);
    expect(units('A', 1, [1, 3], 'block').latencyUs(2)).toBe(81);
    expect(units('A', 1, [0, 2], 'block')).toMatchObject({ cutBytes: 20, weightBytes: 7 });
    expect(units('A', 1, [0, 2], 'block').latencyUs(3)).toBeUndefined();
  });

  test('takes the latencies of layers that were measured', () => {
    expect(units('A', 1, [0, 4]).latencyUs(1)).toBe(80);
    expect(units('A', 1, [0, 2]).latencyUs(1)).toBe(40);
    expect(units('A', 1, [1, 2]).latencyUs(1)).toBe(30);
  });

  test('takes the latency of a block where the layers are all of one', () => {
    expect(units('A', 1, [0, 1]).latencyUs(1)).toBe(10);
    expect(units('A', 1, [1, 3]).latencyUs(1)).toBe(40);
  });

  test('takes the bytes of the last layer, and the weights of all', () => {
    expect(units('A', 1, [1, 3])).toMatchObject({ cutBytes: 3, weightBytes: 300 });
    expect(units('A', 1, [0, 4])).toMatchObject({ cutBytes: 4, weightBytes: 800 });
  });

  test('shares out the time of blocks as at 1/1 and batch 1, or evenly where nothing was measured', () => {
    const each = (device: string, virtual: number, batch: number) =>
      [0, 1, 2, 3].map((i) => units(device, virtual, [i, i + 1]).latencyUs(batch));
    // Block 1 has 30 of b and 10 of d.
    expect(each('A', 1, 2)).toEqual([20, 60, 1, 20]);
    expect(each('A', 2, 1)).toEqual([1, 1.5, 3, 0.5]);
    expect(each('B', 1, 1)).toEqual([10, 20, 30, 20]);
    expect(each('A', 2, 9)).toEqual([undefined, undefined, undefined, undefined]);
    // Of a batch of four the layers were measured in part, and the blocks not at all.
    expect(each('A', 1, 4)).toEqual([undefined, undefined, undefined, undefined]);
  });
});

describe('checkPlan() of what a plan is for', () => {
  const cluster = { devices: { A: { count: 1 } } };
  const planner = { objective: 'throughput', granularity: 'block', wholeGpusPer: 'pool', virtualPer: 'gpu' };
  const model = {
    name: 'm',
    profile: { ...PROFILE, model: { name: 'm' } },
    sloUs: 1000,
    sloMarginUs: 0,
    weight: 1,
    minShare: {},
    batchFormation: 'none',
  };
  const problem = { cluster, planner, models: [model] } as unknown as PooledProblem;
  const planned = { name: 'm', sloMs: 1, sloMarginMs: 0, weight: 1, throughputRps: 0, pipelines: [] };
  const told = (change: object) => {
    const objective = { kind: 'throughput', value: 0, bound: 0, gap: 0 };
    const classes = { A: { used: 0, count: 1 } };
    const plan = {
      status: 'optimal',
      objective,
      cluster,
      models: [planned],
      classes,
      placement: [],
      ...change,
    };
    return checkPlan(plan as unknown as PlanBody, problem).map(({ path, message }) => `${path} ${message}`);
  };

  test('names other models, another cluster and a class that is left out', () => {
    expect(told({ models: [] })).toEqual(['/models has 0 models, the spec 1']);
    expect(told({ models: [planned, planned] })).toEqual(['/models has 2 models, the spec 1']);
    expect(told({ cluster: { devices: { A: { count: 2 } } } })).toContain(
      '/cluster/devices/A/count is 2; its spec and profiles give 1',
    );
    expect(told({ models: [{ ...planned, name: 'n' }] })).toContain('/models/0/name is n; the spec has m');
    expect(told({ classes: {} })).toContain('/classes lacks A');
  });
});
