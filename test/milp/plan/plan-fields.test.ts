import { describe, expect, test } from 'vitest';
import type { Profile } from '../../../src/formats/index.js';
import type { PooledProblem } from '../../../src/milp/index.js';
import { assemblePlan } from '../../../src/milp/plan/plan.js';
import type { UsedColumn } from '../../../src/milp/plan/plan-model.js';
import { classesOf, modelTable } from '../../../src/milp/tables/tables.js';
import { type ModelByHand, problemByHand } from '../by-hand.js';

const MODEL: ModelByHand = {
  name: 'm',
  sloMs: 10,
  cutBytes: [1000, 0],
  latencyUs: { A: { 1: { 1: [100, 200], 3: [150, 300] } }, B: { 1: { 1: [400, 500] } } },
};

const CUT: UsedColumn = {
  column: {
    model: 0,
    parts: [
      { first: 0, end: 1, slot: 0, batch: 1, rps: 20_000 },
      { first: 1, end: 2, slot: 1, batch: 0, rps: 2000 },
    ],
    latencyUs: 653,
  },
  virtualGpus: [1, 1],
};

function assembled(problem: PooledProblem, used: readonly UsedColumn[] = [CUT]) {
  const tables = problem.models.map((_, m) => modelTable(problem, m));
  const objective = { kind: 'throughput', value: 1, bound: 1, gap: 0 } as const;
  const facts = { used, status: 'optimal', objective, reproducible: true, shadowPrices: [] } as const;
  const plan = assemblePlan(problem, { classes: classesOf(problem), tables }, facts);
  if (plan === undefined) throw new Error('it cannot be placed');
  return plan;
}

function withProfile(change: (profile: Profile) => Partial<Profile>): PooledProblem {
  const problem = problemByHand({ A: { count: 1 }, B: { count: 2 } }, [MODEL], { maxPartitions: 2 });
  return {
    ...problem,
    models: problem.models.map((one) => ({ ...one, profile: { ...one.profile, ...change(one.profile) } })),
  };
}

describe('assemblePlan()', () => {
  test('writes the rules that the plan keeps, with a margin of milliseconds where there is one', () => {
    const devices = { A: { count: 1 }, B: { count: 2 } };
    const relative = problemByHand(devices, [MODEL], { maxPartitions: 2 });
    const { sloMarginMs, ...rest } = relative.planner;
    expect(sloMarginMs).toBeUndefined();
    expect(assembled(relative).planner).toEqual(rest);
    expect(assembled(relative).planner).not.toHaveProperty('sloMarginMs');
    const absolute = problemByHand(devices, [MODEL], { maxPartitions: 2, sloMarginMs: 2 });
    expect(assembled(absolute).planner).toMatchObject({ sloMarginMs: 2, maxPartitions: 2 });
    expect(assembled(absolute).models[0]).toMatchObject({ sloMs: 10, sloMarginMs: 2 });
  });

  test('hands on the tensors, inputs and outputs that the profile knows', () => {
    const tensors = [{ name: 'cut', dtype: 'float32' as const, shape: [250] }];
    const outputs = [{ name: 'out', dtype: 'int8' as const, shape: [7] }];
    const known = withProfile((profile) => ({
      boundary: 'float16',
      model: { ...profile.model, outputs },
      blocks: profile.blocks.map((block) => ({ ...block, tensors })),
    }));
    const [model] = assembled(known).models;
    expect(model).toMatchObject({ boundary: 'float16', outputs, blocks: 2 });
    const [first, last] = model?.pipelines[0]?.partitions ?? [];
    expect(first?.tensors).toEqual(tensors);
    // Nothing crosses the end of the model.
    expect(last).not.toHaveProperty('tensors');
    expect([first?.transferBytes, last?.transferBytes]).toEqual([1000, 0]);
    const bare = assembled(withProfile(() => ({}))).models[0];
    expect(bare?.pipelines[0]?.partitions[0]).not.toHaveProperty('tensors');
  });

  test('lists the latency of every batch size up to the largest, with nothing for those not measured', () => {
    const [first, last] = assembled(withProfile(() => ({}))).models[0]?.pipelines[0]?.partitions ?? [];
    expect(first?.latencyUsByBatch).toEqual([100, null, 150]);
    expect(last?.latencyUsByBatch).toEqual([500]);
    expect(first).toMatchObject({ batch: 3, throughputRps: 20_000 });
  });

  test('writes the rate that was asked for, and how long requests wait for a batch to fill', () => {
    const devices = { A: { count: 1 }, B: { count: 2 } };
    const formation = { factor: 2, estimatedRps: 4000 };
    const problem = problemByHand(devices, [{ ...MODEL, rps: 70, weight: 3, batchFormation: formation }], {
      maxPartitions: 2,
    });
    expect(assembled(problem).models[0]).toMatchObject({
      rps: 70,
      weight: 3,
      batchFormationUsPerRequest: 500,
    });
  });

  test('counts GPUs that several pipelines share once', () => {
    const share = { maxPartitions: 2, wholeGpusPer: 'class' as const };
    const latencyUs = { A: { 1: { 1: [100, 200] }, 2: { 1: [200, 400] } } };
    const problem = problemByHand({ A: { count: 3, virtual: [1, 2] } }, [{ ...MODEL, latencyUs }], share);
    const on = (slot: number, virtualGpus: number, end = 2): UsedColumn => ({
      column: { model: 0, parts: [{ first: 0, end, slot, batch: 0, rps: 1000 + slot }], latencyUs: 300 },
      virtualGpus: [virtualGpus],
    });
    const plan = assembled(problem, [
      on(1, 1),
      { ...on(1, 1), column: { ...on(1, 1).column, latencyUs: 301 } },
      on(0, 2),
    ]);
    expect(plan.classes.A).toEqual({ used: 3, count: 3 });
    expect(plan.placement.map(({ server }) => server)).toEqual(['A-0', 'A-1', 'A-2', 'A-2']);
  });
});
