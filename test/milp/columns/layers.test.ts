import { beforeAll, describe, expect, test } from 'vitest';
import { randomProblem, type Shape, stream } from '../../../bench/refute/pooled/random-problem.js';
import { checkPlan } from '../../../src/checks/index.js';
import type { Profile } from '../../../src/formats/index.js';
import { type HighsEngine, loadHighs } from '../../../src/lp/index.js';
import { explainPlan, type PooledProblem, planPooled } from '../../../src/milp/index.js';
import { diffPlans } from '../../../src/plans/index.js';
import { cases, inWholeRun } from '../../cases.js';

const SHAPE: Shape = { classes: 2, blocks: 4, batches: 2, virtual: [1, 2], models: 1, mostGpus: 8 };

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/** Splits every block into a few layers that share its time and its cut. */
function withLayers(profile: Profile, next: () => number): Profile {
  const blocks = profile.blocks.map((block, b) => ({
    ...block,
    nodes: Array.from({ length: 1 + Math.floor(5 * next()) }, (_, i) => `${b}.${i}`),
  }));
  const layers = blocks.flatMap(({ nodes, cutBytes }) =>
    nodes.map((name, i) => ({
      name,
      op: 'Conv',
      ...(i === nodes.length - 1
        ? { cutBytes }
        : next() < 0.2
          ? { noCut: 'inside a loop' }
          : { cutBytes: Math.floor(2e6 * next()) }),
    })),
  );
  const shares = blocks.map(({ nodes }) => nodes.map(() => 0.1 + next()));
  const devices = Object.entries(profile.devices).map(([name, device]) => {
    const row = (device.blockLatencyUs['1']?.['1'] ?? []).flatMap((us, b) => {
      const own = shares[b] as number[];
      const sum = own.reduce((total, share) => total + share, 0);
      return own.map((share) => ((us ?? 0) * share) / sum);
    });
    return [name, { ...device, layerLatencyUs: { '1': { '1': row } } }] as const;
  });
  return { ...profile, blocks, layers, devices: Object.fromEntries(devices) };
}

function layered(seed: number): { block: PooledProblem; layer: PooledProblem } {
  const random = randomProblem(seed, SHAPE);
  const models = random.models.map((model) => ({
    ...model,
    profile: withLayers(model.profile, stream(seed)),
  }));
  const block = { ...random, models };
  return { block, layer: { ...block, planner: { ...block.planner, granularity: 'layer' } } };
}

function plan(problem: PooledProblem) {
  const outcome = planPooled(problem, { highs });
  if (!('plan' in outcome)) throw new Error(outcome.status);
  return outcome;
}

/** A model whose blocks are its layers, so that both granularities mean the same. */
function oneLayerBlocks({ profile }: PooledProblem['models'][number]): Profile {
  const blocks = profile.blocks.map((block, b) => ({ ...block, nodes: [`${b}`] }));
  const layers = profile.blocks.map(({ cutBytes }, b) => ({ name: `${b}`, op: 'Conv', cutBytes }));
  const devices = Object.entries(profile.devices).map(
    ([name, device]) => [name, { ...device, layerLatencyUs: device.blockLatencyUs }] as const,
  );
  return { ...profile, blocks, layers, devices: Object.fromEntries(devices) };
}

describe('planPooled() by layers', () => {
  test('meets rates at a price between its bound and the best of all listed columns, which it mostly reaches', () => {
    let same = 0;
    for (let seed = 1; seed <= cases(5, 40); seed++) {
      const wholeGpusPer = (['pool', 'position', 'class'] as const)[seed % 3] as 'pool';
      const shape = { ...SHAPE, blocks: 6, models: 1 + (seed % 2) };
      const random = randomProblem(seed, shape, { objective: 'cost', wholeGpusPer });
      const models = random.models.map((model) => ({ ...model, profile: oneLayerBlocks(model) }));
      const block = { ...random, models };
      const layer = { ...block, planner: { ...block.planner, granularity: 'layer' as const } };
      const exact = planPooled(block, { highs, gap: 0 });
      const priced = planPooled(layer, { highs, gap: 0 });
      if (exact.status === 'infeasible') {
        expect(priced.status).not.toBe('optimal');
        continue;
      }
      if (exact.status !== 'optimal' || !('plan' in priced)) throw new Error(`${seed}: ${priced.status}`);
      expect({ seed, faults: checkPlan(priced.plan, layer) }).toEqual({ seed, faults: [] });
      const best = exact.plan.objective.value;
      const { value, bound } = priced.plan.objective;
      expect(bound).toBeLessThanOrEqual(best * (1 + 1e-9));
      expect(value).toBeGreaterThanOrEqual(best * (1 - 1e-9));
      if (bound >= best * (1 - 1e-9)) same++;
    }
    expect(same).toBeGreaterThan(cases(2, 20));
  });

  inWholeRun('proves the best plan of all columns where each pool fills whole GPUs', () => {
    let proved = 0;
    for (let seed = 1; seed <= cases(8, 60); seed++) {
      const objective = (['throughput', 'cost', 'power'] as const)[seed % 3] as 'cost';
      const random = randomProblem(seed, { ...SHAPE, blocks: 6, models: 1 + (seed % 3) }, { objective });
      const models = random.models.map((model) => ({ ...model, profile: oneLayerBlocks(model) }));
      const block = { ...random, models };
      const layer = { ...block, planner: { ...block.planner, granularity: 'layer' as const } };
      const exact = planPooled(block, { highs, gap: 0 });
      const priced = planPooled(layer, { highs, gap: 0 });
      if (!('plan' in exact)) continue;
      if (!('plan' in priced)) throw new Error(`${seed}: ${priced.status}`);
      const ratio = priced.plan.objective.value / exact.plan.objective.value;
      expect({ seed, status: priced.status, ratio }).toEqual({
        seed,
        status: exact.status,
        ratio: expect.closeTo(1, 9),
      });
      proved++;
    }
    expect(proved).toBeGreaterThan(cases(4, 30));
  });

  test('never proves a bound below the value of a plan by blocks, when a class must take part', () => {
    for (let seed = 1; seed <= cases(3, 12); seed++) {
      const random = randomProblem(seed, { ...SHAPE, blocks: 6, mostGpus: 4 });
      const models = random.models.map((model) => ({
        ...model,
        profile: oneLayerBlocks(model),
        minShare: { C1: 0.4 },
      }));
      const block = { ...random, models };
      const layer = { ...block, planner: { ...block.planner, granularity: 'layer' as const } };
      const [listed, priced] = [planPooled(block, { highs }), planPooled(layer, { highs })];
      if (!('plan' in listed) || !('plan' in priced)) continue;
      expect({ seed, faults: checkPlan(priced.plan, layer) }).toEqual({ seed, faults: [] });
      expect(priced.plan.objective.bound).toBeGreaterThanOrEqual(listed.plan.objective.value * (1 - 1e-9));
      expect(listed.plan.objective.bound).toBeGreaterThanOrEqual(priced.plan.objective.value * (1 - 1e-9));
    }
  });

  test('never serves less than by blocks, and warns of latencies that were shared out', () => {
    let more = 0;
    for (let seed = 1; seed <= cases(4, 40); seed++) {
      const { block, layer } = layered(seed);
      const [coarse, fine] = [plan(block), plan(layer)];
      expect({ seed, faults: checkPlan(fine.plan, layer) }).toEqual({ seed, faults: [] });
      const ratio = fine.plan.objective.value / coarse.plan.objective.value;
      expect({ seed, notLess: ratio >= 1 - 1e-9 }).toEqual({ seed, notLess: true });
      expect(fine.plan.objective.bound).toBeGreaterThanOrEqual(fine.plan.objective.value);
      expect(fine.notes.join()).toMatch(
        /m0 on C0: layers at 1\/1 batch 2, 1\/2 batch 1, 1\/2 batch 2 are its blocks'/,
      );
      if (ratio > 1.001) more++;
    }
    expect(more).toBeGreaterThan(cases(0, 5));
  });
});

describe('explainPlan()', () => {
  test('solves again with one GPU more and less, and finds the SLOs around', () => {
    const { block } = layered(3);
    const { plan: made } = plan(block);
    const { classes, models } = explainPlan(block, made, { highs });
    for (const { name, oneMore, oneLess } of classes) {
      const device = block.cluster.devices[name] as { count: number };
      for (const [by, told] of [
        [1, oneMore],
        [-1, oneLess],
      ] as const) {
        const devices = { ...block.cluster.devices, [name]: { ...device, count: device.count + by } };
        const outcome = planPooled({ ...block, cluster: { ...block.cluster, devices } }, { highs });
        if ('plan' in outcome)
          expect(told).toBeCloseTo(outcome.plan.objective.value - made.objective.value, 6);
      }
      expect(oneMore).toBeGreaterThanOrEqual(0);
    }
    expect(models[0]?.slowestMs).toBeLessThanOrEqual(models[0]?.allowedMs ?? 0);
  });
});

describe('diffPlans()', () => {
  test('finds no change in the same plan, and reports the changed rates and GPUs of another', () => {
    const { block } = layered(5);
    const { plan: made } = plan(block);
    expect(diffPlans(made, made)).toMatchObject({ same: true, gpusMoved: 0, classes: [] });
    const fewer = { ...block, planner: { ...block.planner, maxPartitions: 1 } };
    const { plan: whole } = plan(fewer);
    const diff = diffPlans(made, whole);
    expect(diff.objective).toEqual({
      kind: 'throughput',
      before: made.objective.value,
      after: whole.objective.value,
    });
    const priced = { ...whole, objective: { ...whole.objective, kind: 'cost' as const } };
    expect(diffPlans(made, priced).objective).toMatchObject({ kindBefore: 'throughput', kind: 'cost' });
    const rate = diff.models[0]?.throughputRps;
    expect(rate?.after).toBe(whole.models[0]?.throughputRps);
    expect(diff.same).toBe(made.objective.value === whole.objective.value && diff.gpusMoved === 0);
  });
});
