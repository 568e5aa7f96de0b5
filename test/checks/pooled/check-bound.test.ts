import { describe, expect, test } from 'vitest';
import { boundFaults } from '../../../src/checks/pooled/check-bound.js';
import type { DeviceClass, ObjectiveKind } from '../../../src/formats/index.js';
import type { PlanBody, PooledProblem } from '../../../src/milp/problem.js';

interface Asked {
  readonly objective?: ObjectiveKind;
  readonly bound: number;
  readonly value?: number;
  readonly devices?: Readonly<Record<string, DeviceClass>>;
  readonly models?: readonly object[];
  readonly planner?: object;
  /** The GPUs in use, by class. */
  readonly used?: Readonly<Record<string, number>>;
  readonly planned?: readonly object[];
  readonly plan?: object;
}

const A: DeviceClass = { count: 3, hourlyCost: 2, powerWatts: 10 };

/** The whole model takes 1 ms for one request and 1.6 ms for two on A, and half as long on B. */
const PROFILE = {
  blocks: [{ weightBytes: 2 ** 30 }, { weightBytes: 2 ** 30 }],
  devices: {
    A: { blockLatencyUs: { 1: { 1: [400, 600], 2: [700, 900] } } },
    B: { blockLatencyUs: { 1: { 1: [200, 300] } } },
  },
};

function model(change: object = {}) {
  return {
    profile: PROFILE,
    name: 'm',
    sloUs: 1500,
    sloMarginUs: 400,
    weight: 1,
    rps: undefined,
    batchFormation: 'none',
    classes: ['A', 'B'],
    minShare: {},
    ...change,
  };
}

function told({ objective = 'throughput', bound, value = bound, ...asked }: Asked): string[] {
  const { devices = { A }, models = [model()], planner = {}, used = {}, planned, plan } = asked;
  const problem = {
    cluster: { devices },
    models,
    planner: { objective, granularity: 'block', wholeGpusPer: 'pool', virtualPer: 'gpu', ...planner },
  };
  const classes = Object.fromEntries(Object.keys(devices).map((name) => [name, { used: used[name] ?? 0 }]));
  const nothing = models.map(() => ({ pipelines: [], throughputRps: 0 }));
  const body = { objective: { kind: objective, value, bound }, models: planned ?? nothing, classes, ...plan };
  const faults = boundFaults(body as unknown as PlanBody, problem as unknown as PooledProblem);
  return faults.map(({ path, message }) => `${path} ${message}`);
}

const LOW = (bound: number, value: number) => [
  `/objective/bound is ${bound}, but a plan made by hand has the value ${value}`,
];

describe('boundFaults() of throughput', () => {
  test('finds a bound below what whole models serve on all GPUs', () => {
    expect(told({ bound: 3000 })).toEqual([]);
    expect(told({ bound: 2999 })).toEqual(LOW(2999, 3000));
  });

  test('takes the best batch among those that meet the SLO less its margin', () => {
    const roomy = model({ sloUs: 2000, sloMarginUs: 400 });
    expect(told({ bound: 3749, models: [roomy] })).toEqual(LOW(3749, 3750));
    expect(told({ bound: 3001, models: [model({ sloUs: 1999 })] })).toEqual([]);
  });

  test('counts the time that batches take to fill', () => {
    const filling = (perRequest: number) => ({
      models: [model({ sloUs: 2000, batchFormation: { factor: 1, estimatedRps: 1e6 / perRequest } })],
      planned: [{ pipelines: [], throughputRps: 0, batchFormationUsPerRequest: perRequest }],
    });
    expect(told({ bound: 3001, ...filling(1) })).toEqual([]);
    const later = { ...filling(100), models: [model({ sloUs: 2100 })] };
    expect(told({ bound: 3001, ...later })).toEqual(LOW(3001, 3750));
  });

  test('takes batches of one where no rate is known to fill batches', () => {
    const models = [model({ sloUs: 2000, batchFormation: { factor: 1, estimatedRps: 'no-partitioning' } })];
    expect(told({ bound: 3001, models })).toEqual([]);
    expect(told({ bound: 2999, models })).toEqual(LOW(2999, 3000));
    const atOnce = [model({ sloUs: 2000, batchFormation: { factor: 0, estimatedRps: 'no-partitioning' } })];
    expect(told({ bound: 3001, models: atOnce })).toEqual(LOW(3001, 3750));
  });

  test('gives idle GPUs to the model that is served least', () => {
    const planned = [{ pipelines: [], throughputRps: 1200 }];
    expect(told({ bound: 3199, planned, used: { A: 1 } })).toEqual(LOW(3199, 3200));
    expect(told({ bound: 3200, planned, used: { A: 1 } })).toEqual([]);
    const two = [model(), model({ weight: 2 })];
    // One GPU goes to the first model and two to the second: 1000 requests per second for each unit of weight.
    expect(told({ bound: 999, models: two })).toEqual(LOW(999, 1000));
    expect(told({ bound: 1000, models: two })).toEqual([]);
  });

  test('leaves out GPUs that are taken, and classes that a model may not use or that lack memory', () => {
    expect(told({ bound: 2000, devices: { A: { ...A, taken: 1 } } })).toEqual([]);
    expect(told({ bound: 1999, devices: { A: { ...A, taken: 1 } } })).toEqual(LOW(1999, 2000));
    const devices = { A, B: { count: 1 } };
    expect(told({ bound: 4999, devices })).toEqual(LOW(4999, 5000));
    expect(told({ bound: 3000, devices, models: [model({ classes: ['A'] })] })).toEqual([]);
    expect(told({ bound: 2999, devices: { A: { ...A, memoryGiB: 2 } } })).toEqual(LOW(2999, 3000));
    expect(told({ bound: 1, devices: { A: { ...A, memoryGiB: 1.9 } } })).toEqual([]);
  });

  test('leaves out a model of weight 0', () => {
    expect(told({ bound: 2999, models: [model(), model({ weight: 0 })] })).toEqual(LOW(2999, 3000));
  });

  test('ignores bounds that hold only for some plans', () => {
    expect(told({ bound: 1, plan: { baseline: 'no-partitioning' } })).toEqual([]);
    expect(told({ bound: 1, plan: { formulation: 'literal' } })).toEqual([]);
    expect(told({ bound: 1, planner: { virtualPer: 'server' } })).toEqual([]);
    expect(told({ bound: 1, models: [model({ minShare: { A: 0.1 } })] })).toEqual([]);
  });
});

describe('boundFaults() of prices', () => {
  test('finds a bound above the cost of whole models, each on the class that is cheapest for it', () => {
    const models = [model({ rps: 2500 })];
    expect(told({ objective: 'cost', bound: 6, value: 8, models })).toEqual([]);
    expect(told({ objective: 'cost', bound: 6.1, value: 8, models })).toEqual(LOW(6.1, 6));
    expect(told({ objective: 'power', bound: 31, value: 40, models })).toEqual(LOW(31, 30));
    // Two B serve as much, for 5. With only one B, three A are needed.
    const B = { count: 2, hourlyCost: 2.5 };
    expect(told({ objective: 'cost', bound: 5.1, value: 8, models, devices: { A, B } })).toEqual(LOW(5.1, 5));
    const one = { A, B: { ...B, count: 1 } };
    expect(told({ objective: 'cost', bound: 5.1, value: 8, models, devices: one })).toEqual([]);
  });

  test('gives every model GPUs of its own, and no more than the cluster has', () => {
    const models = [model({ rps: 1500 }), model({ rps: 900 })];
    expect(told({ objective: 'cost', bound: 6, value: 8, models })).toEqual([]);
    expect(told({ objective: 'cost', bound: 6.1, value: 8, models })).toEqual(LOW(6.1, 6));
    const more = [model({ rps: 1500 }), model({ rps: 1500 })];
    expect(told({ objective: 'cost', bound: 100, value: 100, models: more })).toEqual([]);
  });

  test('finds a pipeline that the rates do not need', () => {
    const pipeline = (throughputRps: number, gpus: number) => ({
      throughputRps,
      partitions: [{ device: 'A', gpus }],
    });
    const asked = (rps: number, rest: object = {}) =>
      told({
        objective: 'cost',
        bound: 8,
        value: 8,
        models: [model({ rps, classes: [] })],
        planned: [{ pipelines: [pipeline(900, 1), pipeline(1500, 2.5)], throughputRps: 2400 }],
        ...rest,
      });
    expect(asked(2000)).toEqual([]);
    expect(asked(1500)).toEqual(LOW(8, 6));
    expect(asked(900)).toEqual(LOW(8, 6));
    expect(asked(1500, { bound: 6 })).toEqual([]);
    expect(asked(900, { bound: 6 })).toEqual(LOW(6, 2));
    // Pools that share GPUs cannot return them one by one.
    expect(asked(900, { planner: { wholeGpusPer: 'class' } })).toEqual([]);
  });
});
