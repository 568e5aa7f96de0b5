import { beforeAll, describe, expect, test } from 'vitest';
import { BruteForce } from '../../../bench/refute/pooled/brute-force.js';
import { randomProblem, type Shape } from '../../../bench/refute/pooled/random-problem.js';
import type { DeviceClass, PooledSpec } from '../../../src/formats/index.js';
import { type HighsEngine, loadHighs } from '../../../src/lp/index.js';
import type { PlanOptions } from '../../../src/milp/index.js';
import { searchPlan } from '../../../src/milp/integer/search.js';
import { assemblePlan } from '../../../src/milp/plan/plan.js';
import { cases } from '../../cases.js';
import { type ModelByHand, problemByHand } from '../by-hand.js';
import { searchFor } from './search-by-hand.js';

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/** Blocks that a class runs in no time that an SLO allows. */
const NEVER = 100_000;

/**
 * A runs block 0 on halves, with 1000 requests per second each. B, C, D and E run block 1, with 1000 per GPU. With one
 * GPU of each of these, a model that is to have 2000 needs two pipelines, whose halves lie on one GPU of A or on two.
 */
const ON_HALVES: ModelByHand['latencyUs'] = {
  A: { 1: { 1: [NEVER, NEVER] }, 2: { 1: [1000, NEVER] } },
  B: { 1: { 1: [NEVER, 1000] } },
  C: { 1: { 1: [NEVER, 1000] } },
  D: { 1: { 1: [NEVER, 1000] } },
  E: { 1: { 1: [NEVER, 1000] } },
};

const half = (count: number): DeviceClass => ({ count, virtual: [2], hourlyCost: 10 });
const one: DeviceClass = { count: 1, hourlyCost: 1 };

function found(
  devices: Record<string, DeviceClass>,
  models: readonly ModelByHand[],
  planner: PooledSpec['planner'] = {},
  options: Partial<PlanOptions> = {},
) {
  const problem = problemByHand(devices, models, {
    maxPartitions: 2,
    wholeGpusPer: 'position',
    linkThroughput: false,
    ...planner,
  });
  const search = searchFor(problem, highs, { gap: 0, ...options });
  const result = searchPlan(search);
  return { search, result, phases: Object.keys(search.phases.ms) };
}

const two = (name: string, rest: Partial<ModelByHand> = {}): ModelByHand => ({
  name,
  sloMs: 9,
  latencyUs: ON_HALVES,
  ...rest,
});

describe('searchPlan() where positions fill whole GPUs', () => {
  test('lets the halves of two pipelines share a GPU', () => {
    const devices = { A: half(1), B: one, C: one };
    const shared = found(devices, [two('m')]);
    expect(shared.result).toMatchObject({ status: 'found', limit: undefined });
    expect(shared.result).toMatchObject({ value: expect.closeTo(2000, 6), bound: expect.closeTo(2000, 6) });
    expect(shared.phases).toContain('positions');
    const apart = found(devices, [two('m')], { wholeGpusPer: 'pool' });
    expect(apart.result).toMatchObject({ value: expect.closeTo(1000, 6), limit: undefined });
  });

  test('divides the GPUs of two models that each share them so', () => {
    const devices = { A: half(2), B: one, C: one, D: one, E: one };
    const models = [two('m', { only: ['A', 'B', 'C'] }), two('n', { only: ['A', 'D', 'E'] })];
    const { result, phases } = found(devices, models);
    expect(result).toMatchObject({ status: 'found', limit: undefined });
    expect(result).toMatchObject({ value: expect.closeTo(2000, 6), bound: expect.closeTo(2000, 6) });
    expect(phases).toContain('positions');
    const few = found({ ...devices, A: half(1) }, models);
    expect(few.result).toEqual({ status: 'infeasible', nodes: 0 });
  });

  test('meets rates for the price of one GPU instead of two', () => {
    const devices = { A: half(2), B: one, C: one };
    const cost = { objective: 'cost' as const };
    const { result, phases } = found(devices, [two('m', { rps: 2000 })], cost);
    expect(result).toMatchObject({ status: 'found', value: 12, bound: expect.closeTo(12, 9) });
    expect(phases).toContain('positions');
    const apart = found(devices, [two('m', { rps: 2000 })], { ...cost, wholeGpusPer: 'pool' });
    expect(apart.result).toMatchObject({ value: 22, bound: expect.closeTo(22, 9), limit: undefined });
  });

  test('has no GPU for halves of two positions', () => {
    // A runs the first block beside B, or the second one behind C.
    const latencyUs = {
      A: { 1: { 1: [NEVER, NEVER] }, 2: { 1: [1000, 1000] } },
      B: { 1: { 1: [NEVER, 1000] } },
      C: { 1: { 1: [1000, NEVER] } },
    };
    // A half of A has the memory of one block.
    const models = [two('m', { latencyUs, weightBytes: [2 ** 30, 2 ** 30] })];
    const devices = { A: { ...half(1), memoryGiB: 2 }, B: one, C: one };
    const position = found(devices, models);
    expect(position.result).toMatchObject({ value: expect.closeTo(1000, 6), limit: undefined });
    // The search over positions has proved it, and no MILP needs to.
    expect(position.phases).toContain('positions');
    expect(position.phases).not.toContain('milp');
    const shared = found(devices, models, { wholeGpusPer: 'class' });
    expect(shared.result).toMatchObject({ value: expect.closeTo(2000, 6), limit: undefined });
  });

  test('knows no more than its bound when the work ends first', () => {
    const devices = { A: half(2), B: one, C: one, D: one, E: one };
    const models = [two('m', { only: ['A', 'B', 'C'] }), two('n', { only: ['A', 'D', 'E'] })];
    const { result } = found(devices, models, {}, { work: 1e-9 });
    if (result.status !== 'found') throw new Error(result.status);
    expect(result.value).toBeLessThanOrEqual(2000 * (1 + 1e-9));
    expect(result.bound).toBeGreaterThanOrEqual(2000 * (1 - 1e-9));
    if (result.value < 1999) expect(result.limit).toBe('work');
  });

  test('finds what a brute force finds, for one model and for two', () => {
    const shape: Shape = { classes: 3, blocks: 2, batches: 1, virtual: [1, 2], models: 1, mostGpus: 2 };
    let searched = 0;
    for (const [models, seeds] of [
      [
        1,
        cases(
          [3, 19, 21, 29],
          Array.from({ length: 40 }, (_, i) => i + 1),
        ),
      ],
      [
        2,
        cases(
          [8, 38],
          Array.from({ length: 40 }, (_, i) => i + 1),
        ),
      ],
    ] as const)
      for (const seed of seeds) {
        const rules = { maxPartitions: 2, wholeGpusPer: 'position' as const };
        const problem = randomProblem(seed, { ...shape, models }, rules);
        const best = new BruteForce(problem).best('throughput');
        const search = searchFor(problem, highs, { gap: 0 });
        const result = searchPlan(search);
        if (result.status !== 'found' || best === undefined) {
          expect({ seed, best, status: result.status }).toEqual({
            seed,
            best: undefined,
            status: 'infeasible',
          });
          continue;
        }
        if ('positions' in search.phases.ms) searched++;
        expect({ seed, models, value: result.value / best, bound: result.bound / best }).toEqual({
          seed,
          models,
          value: expect.closeTo(1, 9),
          bound: expect.closeTo(1, 9),
        });
      }
    expect(searched).toBe(cases(6, 6));
  });
});

describe('searchPlan() where all models share GPUs', () => {
  test('leaves a little idle where parts that add up do not fit side by side', () => {
    // A half, two thirds and four fifths make less than two GPUs, but do not fit on two.
    const part = (name: string, v: number, us: number): ModelByHand => ({
      name,
      sloMs: 99,
      weight: 1000,
      latencyUs: {
        A: Object.fromEntries([2, 3, 5].map((size) => [size, { 1: [size === v ? us : 1e6] }])),
      },
    });
    const models = [part('m', 2, 1000), part('n', 3, 2000), part('o', 5, 4000)];
    const devices = { A: { count: 2, virtual: [2, 3, 5] } };
    const { result, search } = found(devices, models, { wholeGpusPer: 'class', maxPartitions: 1 });
    if (result.status !== 'found') throw new Error(result.status);
    // With three fifths they fit.
    expect(result.value).toBeCloseTo(0.75, 9);
    expect(result.bound).toBeCloseTo(1, 9);
    expect(result.limit).toBe('work');
    const { problem, classes, tables } = search;
    const objective = { kind: 'throughput', value: 0.75, bound: 1, gap: 1 / 3 } as const;
    const facts = { status: 'feasible', objective, reproducible: true, shadowPrices: [] } as const;
    expect(assemblePlan(problem, { classes, tables }, { used: result.used, ...facts })).toBeDefined();
    const three = found({ A: { ...devices.A, count: 3 } }, models, {
      wholeGpusPer: 'class',
      maxPartitions: 1,
    });
    expect(three.result).toMatchObject({ status: 'found', limit: undefined });
  });

  test('plans by whole GPUs where a cluster has too many parts of them', () => {
    const latencyUs = { A: { 1: { 1: [1000] }, 7: { 1: [6500] }, 11: { 1: [9000] }, 13: { 1: [20000] } } };
    const models = [{ name: 'm', sloMs: 99, latencyUs }];
    const shared = { wholeGpusPer: 'class' as const, maxPartitions: 1 };
    // 1001 parts of each of 2100 GPUs are too many; eleven elevenths of one serve 1222 requests per second.
    const large = found({ A: { count: 2100, virtual: [1, 7, 11, 13] } }, models, shared);
    expect(large.phases).toEqual(['varied columns', 'fractions', 'pools']);
    expect(large.result).toMatchObject({ status: 'found', limit: undefined });
    expect(large.result).toMatchObject({ value: expect.closeTo((2100 * 11) / 0.009, 0) });
    // Positions of one partition fill the same GPUs.
    const positions = found({ A: { count: 2100, virtual: [1, 7, 11, 13] } }, models, { maxPartitions: 1 });
    expect(positions.result).toMatchObject({
      value: expect.closeTo((2100 * 11) / 0.009, 0),
      limit: undefined,
    });
  });
});

describe('searchPlan() of clusters that are too large for tables', () => {
  const latencyUs = { A: { 1: { 1: [1000] }, 2: { 1: [1500] } }, B: { 1: { 1: [2000] }, 2: { 1: [4000] } } };
  const devices = {
    A: { count: 3000, virtual: [1, 2], hourlyCost: 3 },
    B: { count: 2000, virtual: [1, 2], hourlyCost: 1 },
  };

  test.each(['pool', 'position', 'class'] as const)(
    'gives most GPUs to the columns of the LP, with whole GPUs per %s',
    (wholeGpusPer) => {
      const models = [{ name: 'm', sloMs: 99, latencyUs }];
      const { result, phases } = found(devices, models, { wholeGpusPer, maxPartitions: 1 }, { gap: 1e-3 });
      if (result.status !== 'found') throw new Error(result.status);
      expect(phases).toContain('bulk');
      // Two halves of A serve 1333 requests per second, and a GPU of B 500.
      const most = (3000 * 4000) / 3 + 2000 * 500;
      expect(result.value / most).toBeCloseTo(1, 3);
      expect(result.bound / most).toBeCloseTo(1, 9);
      expect(result.value).toBeLessThanOrEqual(most * (1 + 1e-9));
    },
  );

  test('meets large rates at a price near that of the LP', () => {
    const models = [{ name: 'm', sloMs: 99, latencyUs, rps: 2_000_000 }];
    const { result } = found(devices, models, { objective: 'cost', maxPartitions: 1 }, { gap: 1e-3 });
    if (result.status !== 'found') throw new Error(result.status);
    // A second of B costs 2/1000 of a request, and one of A 2.25/1000.
    const least = 2000 * 1 + ((2_000_000 - 2000 * 500) * 3 * 3) / 4000;
    expect(result.value / least).toBeCloseTo(1, 2);
    expect(result.value).toBeGreaterThanOrEqual(result.bound);
    expect(result.bound / least).toBeCloseTo(1, 2);
  });
});

describe('searchPlan() where pools give no plan', () => {
  test('finds out that there is none', () => {
    // Every pipeline has two partitions on halves of A, of which there is one GPU.
    const latencyUs = { A: { 1: { 1: [NEVER, NEVER] }, 2: { 1: [1000, 1000] } } };
    const heavy = two('m', { latencyUs, weightBytes: [2 ** 30, 2 ** 30] });
    const devices = { A: { ...half(1), memoryGiB: 2 } };
    const none = found(devices, [heavy]);
    expect(none.result.status).toBe('infeasible');
    const shared = found(devices, [heavy], { wholeGpusPer: 'class' });
    expect(shared.result).toMatchObject({ status: 'found', value: expect.closeTo(1000, 6) });
    const apart = found(devices, [heavy], { wholeGpusPer: 'pool' });
    expect(apart.result.status).toBe('infeasible');
    const many = ['m', 'n', 'o'].map((name) => two(name, { latencyUs, sloMs: 9 }));
    expect(found({ A: half(1) }, many).result.status).toBe('infeasible');
    const priced = many.map((model) => ({ ...model, rps: 1 }));
    for (const wholeGpusPer of ['pool', 'position', 'class'] as const)
      expect(found({ A: half(1) }, priced, { objective: 'cost', wholeGpusPer }).result.status).toBe(
        'infeasible',
      );
  });
});

describe('searchPlan() where rules bind many pools at once', () => {
  /** A and B serve 1000 requests per second each, and B for twice the price. */
  const latencyUs = { A: { 1: { 1: [1000] } }, B: { 1: { 1: [1000] } } };
  const devices = { A: { count: 4, hourlyCost: 1 }, B: { count: 4, hourlyCost: 2 } };
  const model: ModelByHand = { name: 'm', sloMs: 9, latencyUs };
  const pools = { maxPartitions: 1, wholeGpusPer: 'pool' as const };

  test('keeps minimum shares, of one class and of two', () => {
    const most = (minShare: Record<string, number>) => found(devices, [{ ...model, minShare }], pools).result;
    // Eight GPUs serve 8000; where A is to serve most of it, B is held back.
    expect(most({ A: 0.5 })).toMatchObject({ value: expect.closeTo(8000, 1) });
    expect(most({ A: 0.8 })).toMatchObject({ value: expect.closeTo(5000, 1) });
    expect(most({ B: 0.5 })).toMatchObject({ value: expect.closeTo(8000, 1) });
    const cost = { ...pools, objective: 'cost' as const };
    const least = found(devices, [{ ...model, rps: 1500, minShare: { B: 0.5 } }], cost);
    // Two of A would do without the share, for 2. The LP buys 0.75 of each for 2.25, and whole GPUs of each cost 3.
    expect(least.result).toMatchObject({
      status: 'found',
      value: 3,
      bound: expect.closeTo(3, 6),
      limit: undefined,
    });
    const both = found(devices, [{ ...model, rps: 1500, minShare: { A: 0.3, B: 0.2 } }], cost);
    expect(both.result).toMatchObject({ status: 'found', value: 3, bound: expect.closeTo(3, 6) });
  });

  test('fills whole GPUs per pool though a share is asked for', () => {
    const halves = { A: half(1), B: one, C: one };
    const { result } = found(halves, [two('m', { minShare: { A: 0.5 } })], { wholeGpusPer: 'pool' });
    expect(result).toMatchObject({
      status: 'found',
      value: expect.closeTo(1000, 6),
      bound: expect.closeTo(1000, 3),
    });
  });

  test('takes the plan without the rules where it keeps them', () => {
    const cost = { ...pools, objective: 'cost' as const };
    const kept = found(devices, [{ ...model, rps: 1500, minShare: { A: 0.9 } }], cost);
    expect(kept.result).toMatchObject({ value: 2, bound: expect.closeTo(2, 6), limit: undefined });
    expect(kept.phases).not.toContain('milp');
  });
});

describe('searchPlan() of columns that are priced', () => {
  test('looks once more with the columns that whole GPUs need', () => {
    const latencyUs = { A: { 1: { 1: [1000] } }, B: { 1: { 1: [2500] } } };
    const devices = { A: { count: 4, hourlyCost: 3 }, B: { count: 4, hourlyCost: 2 } };
    const problem = problemByHand(devices, [{ name: 'm', sloMs: 9, latencyUs, rps: 100 }], {
      objective: 'cost',
      maxPartitions: 1,
    });
    const search = searchFor(problem, highs, { gap: 0 }, 'priced');
    // The LP needs a tenth of an A. A whole one costs 3, and a B, which serves 100 as well, costs 2.
    const used = search.master.columns.flatMap((column, c) => (search.master.rps[c]! > 0 ? [column] : []));
    expect(used).toHaveLength(1);
    const master = { ...search.master, columns: used, rps: search.master.rps.filter((rps) => rps > 0) };
    expect(searchPlan({ ...search, master })).toMatchObject({
      status: 'found',
      value: 2,
      bound: expect.closeTo(2, 9),
      limit: undefined,
    });
  });

  test('finds a price and a bound on both sides of the best, mostly the best itself', () => {
    const shape: Shape = { classes: 2, blocks: 3, batches: 2, virtual: [1, 2], models: 2, mostGpus: 4 };
    let [same, looked] = [0, 0];
    for (const seed of cases(
      [1, 2, 3, 4],
      Array.from({ length: 30 }, (_, i) => i + 1),
    )) {
      const problem = randomProblem(seed, shape, {
        maxPartitions: 2,
        objective: 'cost',
        wholeGpusPer: 'class',
      });
      const listed = searchPlan(searchFor(problem, highs, { gap: 0 }));
      if (listed.status !== 'found') continue;
      const search = searchFor(problem, highs, { gap: 0 }, 'priced');
      const priced = searchPlan(search);
      if ('whole GPUs' in search.phases.ms) looked++;
      if (priced.status !== 'found') throw new Error(`seed ${seed}: ${priced.status}`);
      expect(priced.value).toBeGreaterThanOrEqual(listed.value * (1 - 1e-9));
      expect(priced.bound).toBeLessThanOrEqual(listed.value * (1 + 1e-9));
      if (priced.value <= listed.value * (1 + 1e-9)) same++;
    }
    expect(looked).toBeGreaterThan(1);
    expect(same).toBeGreaterThan(1);
  });

  test('serves no more than its bound, and on a large cluster nearly as much', () => {
    const shape: Shape = { classes: 2, blocks: 3, batches: 2, virtual: [1, 2], models: 1, mostGpus: 4 };
    for (const count of [4, 3000]) {
      const some = randomProblem(2, shape, { maxPartitions: 2 });
      const devices = Object.fromEntries(
        Object.entries(some.cluster.devices).map(([name, device]) => [name, { ...device, count }]),
      );
      const problem = { ...some, cluster: { ...some.cluster, devices } };
      const [priced, listed] = (['priced', 'listed'] as const).map((how) =>
        searchPlan(searchFor(problem, highs, { gap: 1e-3 }, how)),
      );
      if (priced?.status !== 'found' || listed?.status !== 'found') throw new Error(priced?.status);
      expect(priced.bound).toBeGreaterThanOrEqual(listed.value * (1 - 1e-9));
      expect(priced.value / listed.value).toBeGreaterThan(0.99);
      expect(priced.value).toBeLessThanOrEqual(listed.bound * (1 + 1e-9));
    }
  });
});

describe('searchPlan() of the literal formulation', () => {
  const literal = { formulation: 'literal' as const, copies: 1 };
  const whole: ModelByHand = { name: 'm', sloMs: 9, latencyUs: { A: { 1: { 1: [1000] } } } };
  const A = { count: 3, hourlyCost: 2 };

  test('finds the optimum, and proves nothing where it has no plan with so many copies of a pipeline', () => {
    const most = found({ A }, [whole], { maxPartitions: 1 }, literal);
    expect(most.result).toMatchObject({ status: 'found', value: expect.closeTo(3000, 6), limit: undefined });
    const cost = { objective: 'cost' as const, maxPartitions: 1 };
    const least = found({ A }, [{ ...whole, rps: 1500 }], cost, literal);
    expect(least.result).toMatchObject({ status: 'found', value: expect.closeTo(4, 9), limit: undefined });
    const none = found({ A }, [{ ...whole, rps: 3500 }], cost, literal);
    expect(none.result).toEqual({ status: 'none', limit: 'copies', nodes: 0 });
  });

  test('takes what the solver has at the end of its work, and leaves what falls short of the rates', () => {
    // The solver says that it ended early, with the solution that it has.
    const early: HighsEngine = {
      ...highs,
      solve: (model, options) => {
        const outcome = highs.solve(model, options);
        if (outcome.status !== 'optimal') throw new Error(outcome.status);
        return { ...outcome, status: 'feasible', limit: 'nodes', bound: 3500 };
      },
    };
    const most = found({ A }, [whole], { maxPartitions: 1 }, { ...literal, highs: early }).result;
    expect(most).toMatchObject({ status: 'found', value: expect.closeTo(3000, 6), limit: undefined });
    const short: HighsEngine = {
      ...highs,
      solve: (model, options) => {
        const outcome = highs.solve(model, options);
        if (outcome.status !== 'optimal') throw new Error(outcome.status);
        return { ...outcome, values: outcome.values.map((x) => (x > 1 && x < 3 ? 1 : x)) };
      },
    };
    const cost = { objective: 'cost' as const, maxPartitions: 1 };
    const less = found({ A }, [{ ...whole, rps: 1500 }], cost, { ...literal, highs: short }).result;
    expect(less).toMatchObject({ status: 'none', limit: 'work' });
  });

  test('has none where it is stopped, and knows nothing of sizes per server', () => {
    const stopped = found({ A }, [whole], { maxPartitions: 1 }, { ...literal, interrupted: () => true });
    if (stopped.result.status === 'none') expect(stopped.result.limit).toBe('interrupted');
    else expect(stopped.result.status).toBe('found');
    const perServer = { virtualPer: 'server' as const };
    expect(() => found({ A }, [whole], perServer, literal)).toThrow(/it does not support virtualPer: server/);
  });
});
