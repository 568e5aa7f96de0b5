import { beforeAll, describe, expect, test } from 'vitest';
import { randomProblem } from '../../bench/refute/pooled/random-problem.js';
import { checkPlan } from '../../src/checks/index.js';
import type { DeviceClass, PooledSpec, Profile } from '../../src/formats/index.js';
import { type HighsEngine, loadHighs } from '../../src/lp/index.js';
import {
  baselineProblem,
  type PlanOptions,
  type PlanProgress,
  type PooledProblem,
  planBaseline,
  planPooled,
} from '../../src/milp/index.js';
import { Phases } from '../../src/milp/phases.js';
import { describeInWholeRun } from '../cases.js';
import { type ModelByHand, ON_A, problemByHand } from './by-hand.js';

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

function planned(problem: PooledProblem, options: Partial<PlanOptions> = {}) {
  const outcome = planPooled(problem, { highs, ...options });
  if (!('plan' in outcome)) throw new Error(outcome.status);
  expect(checkPlan(outcome.plan, problem)).toEqual([]);
  return outcome;
}

function whole(
  devices: Record<string, DeviceClass>,
  model: Partial<ModelByHand> = {},
  planner: PooledSpec['planner'] = {},
): PooledProblem {
  const one = { name: 'm', sloMs: 9, latencyUs: ON_A, ...model };
  return problemByHand(devices, [one], { maxPartitions: 1, ...planner });
}

describe('planPooled() says how far it is', () => {
  test('in the units of the spec', () => {
    const told: PlanProgress[] = [];
    const onProgress = (progress: PlanProgress) => told.push(progress);
    const { plan, notes } = planned(whole({ A: { count: 3 } }, { weight: 1000 }), { onProgress });
    expect(notes).toEqual([]);
    // It would be found again, so nothing is said of that.
    expect(plan).not.toHaveProperty('reproducible');
    // Three GPUs serve 1333 requests per second each.
    expect(plan.objective.value).toBeCloseTo(4, 9);
    expect(plan.classes.A?.shadowPrice).toBeCloseTo(4 / 3, 9);
    expect(told).toEqual([
      { phase: 'columns' },
      { phase: 'bound' },
      { phase: 'search', bound: expect.closeTo(4, 9) },
    ]);
  });

  test('with the value of the best plan so far, where a solver looks for it', () => {
    const told: PlanProgress[] = [];
    const engine: HighsEngine = {
      ...highs,
      solve: (model, options) => {
        const outcome = highs.solve(model, options);
        if (outcome.status === 'optimal') options?.onProgress?.(outcome.objective, outcome.bound);
        return outcome;
      },
    };
    // B serves as much as A for twice the price, and half of the requests must go through it. Two shares take a solver.
    const latencyUs = { ...ON_A, B: ON_A.A as (typeof ON_A)['A'] };
    const devices = { A: { count: 3, hourlyCost: 800 }, B: { count: 3, hourlyCost: 1600 } };
    const asked = { latencyUs, rps: 2000, minShare: { A: 0.1, B: 0.5 } };
    const problem = whole(devices, asked, { objective: 'cost' });
    const { plan } = planned(problem, { highs: engine, onProgress: (progress) => told.push(progress) });
    expect(plan.objective.value).toBe(2400);
    const bound = expect.closeTo(1800, 6);
    expect(told.at(-1)).toEqual({ phase: 'search', value: expect.closeTo(2400, 6), bound });
  });
});

describe('planPooled() where batches take as long to fill as without partitioning', () => {
  const formation = { factor: 1, estimatedRps: 'no-partitioning' as const };

  test('takes the rate of whole models on whole GPUs', () => {
    // A batch of two takes 1.5 ms, and 0.75 ms to fill at 1333 requests per second.
    const at = (sloMs: number) =>
      planned(whole({ A: { count: 1 } }, { sloMs }, { batchFormation: formation })).plan.models[0];
    expect(at(2.26 / 0.9)).toMatchObject({
      throughputRps: expect.closeTo(2e6 / 1500, 6),
      batchFormationUsPerRequest: expect.closeTo(750, 6),
    });
    expect(at(2.24 / 0.9)).toMatchObject({ throughputRps: expect.closeTo(1000, 6) });
    const two = ['m', 'n'].map((name) => ({ name, sloMs: 9, latencyUs: ON_A }));
    const shared = problemByHand({ A: { count: 3, virtual: [1] } }, two, {
      maxPartitions: 1,
      batchFormation: formation,
    });
    // One of them has two of the three GPUs.
    const waits = planned(shared).plan.models.map((model) => model.batchFormationUsPerRequest);
    expect([...waits].sort()).toEqual([expect.closeTo(375, 6), expect.closeTo(750, 6)]);
  });

  test('fills no batch where whole models meet no SLO', () => {
    const latencyUs = {
      A: { 1: { 1: [300, 9000], 2: [400, 9000] } },
      B: { 1: { 1: [9000, 300], 2: [9000, 400] } },
    };
    const problem = problemByHand(
      { A: { count: 1 }, B: { count: 1 } },
      [{ name: 'm', sloMs: 2, latencyUs }],
      { batchFormation: formation },
    );
    const { plan } = planned(problem);
    expect(plan.models[0]?.throughputRps).toBeCloseTo(1e6 / 300, 6);
    expect(plan.models[0]).not.toHaveProperty('batchFormationUsPerRequest');
  });

  test('is planned for rates even where the objective is a price', () => {
    const devices = { A: { count: 2, hourlyCost: 1 } };
    const problem = whole(devices, { rps: 10 }, { objective: 'cost', batchFormation: formation });
    const { plan } = planned(problem);
    // Two GPUs could serve 2667 requests per second; one is enough for 10.
    expect(plan.models[0]?.batchFormationUsPerRequest).toBeCloseTo(375, 6);
    expect(plan.objective.value).toBe(1);
  });
});

describeInWholeRun('planPooled() where pipelines are too many to be listed', () => {
  test('serves at least what whole models do', () => {
    // Of three partitions alone there are 4851 · 4³ · 2 pipelines.
    const shape = { classes: 2, blocks: 100, batches: 2, virtual: [1, 2], models: 1, mostGpus: 4 };
    const random = randomProblem(3, shape, { maxPartitions: 3 });
    const models = random.models.map((model) => {
      const sloUs = 5 * model.sloUs;
      return { ...model, sloUs, spec: { ...model.spec, sloMs: sloUs / 1000 } };
    });
    const problem = { ...random, models };
    const three = planned(problem);
    const one = planned({ ...problem, planner: { ...problem.planner, maxPartitions: 1 } });
    expect(three.plan.objective.value).toBeGreaterThanOrEqual(one.plan.objective.value * (1 - 1e-9));
    expect(three.plan.objective.bound).toBeGreaterThanOrEqual(one.plan.objective.bound * (1 - 1e-9));
  });
});

/** One block of two layers, the first of which is quick on A and the second on B. */
const LAYERED: Profile = {
  kind: 'profile',
  version: '1.0',
  model: { name: 'm' },
  blocks: [{ cutBytes: 0, nodes: ['a', 'b'] }],
  layers: [
    { name: 'a', op: 'Conv', cutBytes: 1000 },
    { name: 'b', op: 'Conv', cutBytes: 0 },
  ],
  devices: {
    A: { blockLatencyUs: { 1: { 1: [9300], 2: [9400] } }, layerLatencyUs: { 1: { 1: [300, 9000] } } },
    B: { blockLatencyUs: { 1: { 1: [9300], 2: [9400] } }, layerLatencyUs: { 1: { 1: [9000, 300] } } },
  },
};

/** The same profile with batches of one, of which every layer was measured. */
function atOneBatch(profile: Profile): Profile {
  const devices = Object.entries(profile.devices).map(([name, device]) => {
    const one = device.blockLatencyUs[1]?.[1] ?? [];
    return [name, { ...device, blockLatencyUs: { 1: { 1: one } } }] as const;
  });
  return { ...profile, devices: Object.fromEntries(devices) };
}

describe('planPooled() by layers', () => {
  test('finds a plan where blocks have none, and says which latencies were shared out', () => {
    const byHand = problemByHand(
      { A: { count: 1 }, B: { count: 1 } },
      [{ name: 'm', sloMs: 2, latencyUs: { A: { 1: { 1: [1] } }, B: { 1: { 1: [1] } } } }],
      { maxPartitions: 2 },
    );
    const models = byHand.models.map((model) => ({ ...model, profile: LAYERED }));
    const problem = { ...byHand, models, planner: { ...byHand.planner, granularity: 'layer' as const } };
    const { plan, notes } = planned(problem);
    expect(plan.models[0]?.throughputRps).toBeGreaterThan(1e6 / 300);
    expect(notes.map((note) => note.slice(0, 36))).toEqual([
      'm on A: layers at 1/1 batch 2 are it',
      'm on B: layers at 1/1 batch 2 are it',
    ]);
    const measured = models.map((model) => ({ ...model, profile: atOneBatch(LAYERED) }));
    expect(planned({ ...problem, models: measured }).notes).toEqual([]);
    const byBlock = { ...problem, planner: { ...problem.planner, granularity: 'block' as const } };
    expect(planPooled(byBlock, { highs }).status).toBe('infeasible');
  });
});

describe('planPooled() of a model without a pipeline', () => {
  const tight = { name: 'n', sloMs: 0.1, latencyUs: ON_A };

  test('serves the others where it has no weight and no rate is asked for', () => {
    const models = [
      { name: 'm', sloMs: 9, latencyUs: ON_A },
      { ...tight, weight: 0 },
    ];
    const { plan } = planned(problemByHand({ A: { count: 1 } }, models, { maxPartitions: 1 }));
    expect(plan.models.map(({ throughputRps }) => throughputRps)).toEqual([expect.closeTo(2e6 / 1500, 6), 0]);
    for (const model of [tight, { ...tight, weight: 0, rps: 1 }]) {
      const none = problemByHand({ A: { count: 1 } }, [models[0]!, model], { maxPartitions: 1 });
      expect(planPooled(none, { highs }).status).toBe('infeasible');
    }
  });
});

describe('planPooled() where parts of GPUs add up but do not fit side by side', () => {
  const part = (name: string, v: number, us: number): ModelByHand => ({
    name,
    sloMs: 99,
    rps: 1000,
    latencyUs: { A: Object.fromEntries([2, 3, 5].map((size) => [size, { 1: [size === v ? us : 1e6] }])) },
  });
  // A half, two thirds and four fifths.
  const models = [part('m', 2, 1000), part('n', 3, 2000), part('o', 5, 4000)];
  const problem = (count: number) =>
    problemByHand({ A: { count, virtual: [2, 3, 5], hourlyCost: 7 } }, models, {
      objective: 'cost',
      wholeGpusPer: 'class',
      maxPartitions: 1,
    });

  test('takes more GPUs, and does not call the plan optimal', () => {
    const outcome = planned(problem(3));
    expect(outcome).toMatchObject({ status: 'feasible', limit: 'gap' });
    expect(outcome.plan).toMatchObject({
      status: 'feasible',
      planner: { wholeGpusPer: 'class' },
      objective: { kind: 'cost', value: 21, bound: expect.closeTo(14, 6), gap: expect.closeTo(0.5, 6) },
    });
  });

  test('plans pools of whole GPUs where there are no more of them, and keeps the bound of the parts', () => {
    const beside = models.map((model) => ({
      ...model,
      latencyUs: { ...model.latencyUs, B: { 1: { 1: [900] } } },
    }));
    const devices = {
      A: { count: 2, virtual: [2, 3, 5], hourlyCost: 7 },
      B: { count: 1, hourlyCost: 100 },
    };
    const rules = { objective: 'cost' as const, wholeGpusPer: 'class' as const, maxPartitions: 1 };
    const outcome = planned(problemByHand(devices, beside, rules));
    // Two of the models fill a GPU of A each, and the third one has that of B.
    expect(outcome).toMatchObject({ status: 'feasible', limit: 'gap' });
    expect(outcome.plan).toMatchObject({
      status: 'feasible',
      planner: { wholeGpusPer: 'class', maxPartitions: 1 },
      objective: { kind: 'cost', value: 114, bound: expect.closeTo(14, 6), gap: expect.closeTo(100 / 14, 6) },
    });
  });

  test('has no plan where there are too few GPUs for these', () => {
    expect(planPooled(problem(2), { highs }).status).toBe('infeasible');
  });
});

describe('planPooled() ends its rounds of pricing', () => {
  test('when it is interrupted', () => {
    const shape = { classes: 2, blocks: 4, batches: 2, virtual: [1, 2], models: 2, mostGpus: 4 };
    const problem = randomProblem(3, shape, { maxPartitions: 2 });
    const free = planPooled(problem, { highs });
    expect(free.solver.rounds).toBeGreaterThan(1);
    const stopped = planPooled(problem, { highs, interrupted: () => true });
    expect(stopped.solver.rounds).toBe(1);
  });
});

describe('planBaseline() of pairs', () => {
  /** A runs both blocks in 1 ms; B runs the first as fast, and the second in no time that the SLO allows. */
  const latencyUs = { A: { 1: { 1: [500, 500] } }, B: { 1: { 1: [500, 90_000] } } };
  const devices = { A: { count: 4 }, B: { count: 3 } };
  const models = ['m', 'n'].map((name) => ({ name, sloMs: 9, latencyUs }));

  test('divides GPUs that nobody uses without partitioning evenly, the first models first', () => {
    const outcome = planBaseline(problemByHand(devices, models), 'dart-r', { highs });
    if (!('plan' in outcome)) throw new Error(outcome.status);
    // Each has two of A. The first has two of B, and so two pairs; the other has one pair and a single A.
    expect(outcome.plan.models.map(({ throughputRps }) => throughputRps)).toEqual([
      expect.closeTo(4000, 6),
      expect.closeTo(3000, 6),
    ]);
  });

  test('names the baseline also of plans that are not proved', () => {
    const half = { A: { 1: { 1: [1000] } }, B: { 1: { 1: [3000] } } };
    const large = problemByHand(
      { A: { count: 3001 }, B: { count: 1999 } },
      ['m', 'n', 'o'].map((name, m) => ({ name, sloMs: 9, weight: 1 + m / 7, latencyUs: half })),
    );
    const outcome = planBaseline(large, 'no-partitioning', { highs });
    expect(outcome).toMatchObject({ status: 'feasible', plan: { baseline: 'no-partitioning' } });
  });

  test('says that there is no plan in time where the solver stops or fails, which proves nothing', () => {
    for (const end of [
      { status: 'stopped', limit: 'nodes', nodes: 1 },
      { status: 'feasible', objective: 1, bound: 2, values: new Float64Array(9), limit: 'nodes', nodes: 1 },
      { status: 'failed', message: 'out of memory' },
    ] as const) {
      const engine: HighsEngine = { ...highs, solve: () => end };
      const outcome = planBaseline(problemByHand(devices, models), 'dart-r', { highs: engine });
      expect(outcome).toMatchObject({ status: 'no-plan-in-time', limit: 'work' });
    }
  });

  test('writes the whole GPUs into the cluster of the problem that it answers', () => {
    const { cluster } = baselineProblem(problemByHand(devices, models), 'dart-r');
    expect(cluster.devices).toEqual({ A: { count: 4, virtual: [1] }, B: { count: 3, virtual: [1] } });
  });
});

describe('Phases', () => {
  test('sums the time of each phase, also of one that throws, by the clock that it is given', () => {
    let now = 100;
    const phases = new Phases(() => now);
    const taking = (ms: number) => () => {
      now += ms;
      return ms;
    };
    expect(phases.time('a', taking(5))).toBe(5);
    phases.time('b', taking(7));
    expect(() =>
      phases.time('a', () => {
        now += 2;
        throw new Error('stop');
      }),
    ).toThrow('stop');
    expect(phases.ms).toEqual({ a: 7, b: 7 });
    expect(phases.elapsed()).toBe(14);
    const without = new Phases();
    without.time('a', taking(5));
    expect([without.ms, without.elapsed()]).toEqual([{ a: 0 }, 0]);
  });
});
