import { describe, expect, test } from 'vitest';
import { checkPlan } from '../../../src/checks/index.js';
import type { PooledProblem } from '../../../src/milp/index.js';
import { assemblePlan, compareColumns, fitsServers, type PlanFacts } from '../../../src/milp/plan/plan.js';
import { type UsedColumn, usedRps } from '../../../src/milp/plan/plan-model.js';
import { settledShares } from '../../../src/milp/plan/settled-shares.js';
import { classesOf, modelTable } from '../../../src/milp/tables/tables.js';
import { type ModelByHand, problemByHand } from '../by-hand.js';

const MODEL: ModelByHand = {
  name: 'm',
  sloMs: 10,
  cutBytes: [1000, 0],
  latencyUs: {
    A: { 1: { 1: [100, 200], 2: [150, 300] }, 2: { 1: [180, 350], 2: [250, 500] } },
    B: { 1: { 1: [400, 500], 2: [500, 600] } },
  },
};

const DEVICES = { A: { count: 4, virtual: [1, 2] }, B: { count: 3 } };

function assembled(problem: PooledProblem, used: readonly UsedColumn[], facts: Partial<PlanFacts> = {}) {
  const tables = problem.models.map((_, m) => modelTable(problem, m));
  const objective = { kind: 'throughput', value: 1, bound: 1, gap: 0 } as const;
  const known = { used, status: 'optimal', objective, reproducible: true, shadowPrices: [] } as const;
  return assemblePlan(problem, { classes: classesOf(problem), tables }, { ...known, ...facts });
}

/** The whole model on whole GPUs of A, in batches of two: 4444 requests per second each. */
function whole(gpus: number, batch = 1): UsedColumn {
  const rps = batch === 1 ? 2e6 / 450 : 1e6 / 300;
  const parts = [{ first: 0, end: 2, slot: 0, batch, rps }];
  return { column: { model: 0, parts, latencyUs: 450 }, virtualGpus: [gpus] };
}

/** Block 0 on halves of A, and block 1 on B, in batches of one. */
function cut(halves: number, gpus: number): UsedColumn {
  const parts = [
    { first: 0, end: 1, slot: 1, batch: 0, rps: 1e6 / 180 },
    { first: 1, end: 2, slot: 2, batch: 0, rps: 2000 },
  ];
  return { column: { model: 0, parts, latencyUs: 681 }, virtualGpus: [halves, gpus] };
}

describe('assemblePlan()', () => {
  test('orders pipelines by throughput, and writes each partition with its figures', () => {
    const problem = problemByHand(DEVICES, [MODEL]);
    const plan = assembled(problem, [cut(2, 3), whole(2)])!;
    expect(plan.models[0]?.pipelines.map(({ throughputRps }) => throughputRps)).toEqual([4e6 / 450, 6000]);
    expect(plan.models[0]?.throughputRps).toBeCloseTo(4e6 / 450 + 6000, 9);
    expect(plan.models[0]?.pipelines[1]?.partitions).toEqual([
      {
        blocks: [0, 1],
        device: 'A',
        virtual: 2,
        virtualGpus: 2,
        gpus: 1,
        batch: 1,
        latencyUsByBatch: [180],
        throughputRps: 2e6 / 180,
        transferBytes: 1000,
      },
      {
        blocks: [1, 2],
        device: 'B',
        virtual: 1,
        virtualGpus: 3,
        gpus: 3,
        batch: 1,
        latencyUsByBatch: [500],
        throughputRps: 6000,
        transferBytes: 0,
      },
    ]);
    expect(plan.models[0]?.pipelines[0]?.partitions[0]?.latencyUsByBatch).toEqual([300, 450]);
    expect(plan.classes).toEqual({ A: { used: 3, count: 4 }, B: { used: 3, count: 3 } });
    expect(plan).toMatchObject({ status: 'optimal', kind: 'pooled-plan' });
    expect(plan).not.toHaveProperty('reproducible');
    const faults = checkPlan(plan, problem).filter(({ path }) => !path.startsWith('/objective'));
    expect(faults).toEqual([]);
  });

  test('uses no more GPUs than the throughput needs, in whole GPUs or in parts', () => {
    const units = (wholeGpusPer: 'pool' | 'class', halves: number, gpus: number) =>
      assembled(problemByHand(DEVICES, [MODEL], { wholeGpusPer }), [
        cut(halves, gpus),
      ])?.models[0]?.pipelines[0]?.partitions.map(({ virtualGpus }) => virtualGpus);
    // Two GPUs of B serve 4000 requests per second, for which one half of A is enough.
    expect(units('pool', 4, 2)).toEqual([2, 2]);
    expect(units('class', 4, 2)).toEqual([1, 2]);
    // One half of A serves 5556, for which three GPUs of B are needed.
    expect(units('class', 1, 3)).toEqual([1, 3]);
  });

  test('reports what is not reproducible, what a GPU is worth, and what was emulated', () => {
    const { profile } = problemByHand(DEVICES, [MODEL]).models[0]!;
    const problem = problemByHand(DEVICES, [MODEL]);
    const devices = { ...profile.devices, B: { ...profile.devices.B!, emulated: true as const } };
    const emulated = {
      ...problem,
      models: problem.models.map((one) => ({ ...one, profile: { ...profile, devices } })),
    };
    const plan = assembled(emulated, [whole(1)], {
      reproducible: false,
      status: 'feasible',
      shadowPrices: [5, 0],
    });
    expect(plan).toMatchObject({ reproducible: false, status: 'feasible' });
    expect(plan?.classes).toEqual({
      A: { used: 1, count: 4, shadowPrice: 5 },
      B: { used: 0, count: 3, shadowPrice: 0, emulated: true },
    });
  });

  test('counts the bytes of inputs where every tensor has a size', () => {
    const bytes = (...inputs: { dtype: string; shape: number[] }[]) => {
      const problem = problemByHand(DEVICES, [MODEL]);
      const named = inputs.map((one, i) => ({ name: `i${i}`, ...one }));
      const models = problem.models.map((one) => ({
        ...one,
        profile: { ...one.profile, model: { ...one.profile.model, inputs: named } },
      }));
      return assembled({ ...problem, models }, [whole(1)])?.models[0]?.inputBytes;
    };
    expect(bytes({ dtype: 'float32', shape: [3, 5] })).toBe(60);
    const each = ['float64', 'int64', 'uint64', 'float32', 'int32', 'uint32', 'float16', 'bfloat16'];
    expect(each.map((dtype) => bytes({ dtype, shape: [2] }))).toEqual([16, 16, 16, 8, 8, 8, 4, 4]);
    expect(['int16', 'uint16', 'int8', 'uint8', 'bool'].map((dtype) => bytes({ dtype, shape: [] }))).toEqual([
      2, 2, 1, 1, 1,
    ]);
    expect(bytes({ dtype: 'int8', shape: [7] }, { dtype: 'bool', shape: [3] })).toBe(10);
    expect(bytes({ dtype: 'int8', shape: [7] }, { dtype: 'string', shape: [3] })).toBeUndefined();
    const bare = assembled(problemByHand(DEVICES, [MODEL]), [whole(1)])?.models[0];
    for (const key of ['inputs', 'outputs', 'inputBytes', 'boundary', 'rps', 'batchFormationUsPerRequest'])
      expect(bare).not.toHaveProperty(key);
  });

  test('gives no plan where there are too few GPUs', () => {
    const problem = problemByHand(DEVICES, [MODEL]);
    const tables = [modelTable(problem, 0)];
    expect(assembled(problem, [whole(4)])).toBeDefined();
    expect(fitsServers(problem, tables, [whole(4)])).toBe(true);
    expect(assembled(problem, [whole(4), cut(1, 1)])).toBeUndefined();
    expect(fitsServers(problem, tables, [whole(4), cut(1, 1)])).toBe(false);
    expect(fitsServers(problem, tables, [whole(3), cut(2, 3)])).toBe(true);
    expect(fitsServers(problem, tables, [whole(3), cut(2, 4)])).toBe(false);
  });
});

describe('compareColumns()', () => {
  test('orders by model, fewer partitions, earlier cuts, slots and batches', () => {
    const [a, b] = [whole(1).column, cut(1, 1).column];
    const second = (more: object) => ({ ...b, parts: [b.parts[0]!, { ...b.parts[1]!, ...more }] });
    const first = (more: object) => ({ ...b, parts: [{ ...b.parts[0]!, ...more }, b.parts[1]!] });
    const ordered = [
      a,
      { ...a, parts: [{ ...a.parts[0]!, batch: 2 }] },
      b,
      second({ batch: 1 }),
      second({ slot: 3 }),
      first({ batch: 1 }),
      first({ slot: 2 }),
      first({ end: 2 }),
      { ...a, model: 1 },
    ];
    ordered.forEach((one, i) => {
      ordered.forEach((other, j) => {
        expect(Math.sign(compareColumns(one, other)), `${i} ${j}`).toBe(Math.sign(i - j));
      });
    });
  });
});

describe('settledShares()', () => {
  const tables = (minShare: Record<string, number>) => {
    const problem = problemByHand(DEVICES, [{ ...MODEL, minShare }]);
    return problem.models.map((_, m) => modelTable(problem, m));
  };

  test('holds back pipelines without a class until its share is kept, and leaves the others alone', () => {
    // B must serve a third and serves 1000. The pipeline without B may serve 2000, and was given 2000.002.
    const used = [
      { ...whole(1), rps: 2000.002 },
      { ...cut(1, 1), rps: 1000 },
    ];
    const [lacks, has] = settledShares(used, tables({ B: 1 / 3 }));
    expect((has?.rps as number) / ((has?.rps as number) + (lacks?.rps as number))).toBeGreaterThanOrEqual(
      1 / 3,
    );
    expect(lacks?.rps).toBeCloseTo(2000.002, 2);
    expect(lacks?.rps).toBeLessThan(2000.0021);
    expect(settledShares(used, tables({}))).toEqual(used);
  });

  test('raises rates by no more than the tolerance, and no further than the GPUs allow', () => {
    const [free] = settledShares([{ ...cut(1, 1), rps: 1000 }], tables({ B: 1 / 3 }));
    expect(free?.rps).toBeCloseTo(1000.001, 9);
    const most = usedRps(cut(1, 1));
    const [full] = settledShares([{ ...cut(1, 1), rps: most * (1 - 1e-8) }], tables({ B: 1 / 3 }));
    expect(full?.rps).toBeCloseTo(most, 9);
  });
});
