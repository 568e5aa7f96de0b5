import { beforeAll, describe, expect, test } from 'vitest';
import { randomProblem, type Shape } from '../../bench/refute/pooled/random-problem.js';
import { checkPlan } from '../../src/checks/index.js';
import { type HighsEngine, loadHighs } from '../../src/lp/index.js';
import {
  baselineProblem,
  type PooledProblem,
  type ProblemModel,
  planBaseline,
} from '../../src/milp/index.js';
import { cases, describeInWholeRun } from '../cases.js';
import { problemByHand } from './by-hand.js';

const SHAPE: Shape = { classes: 2, blocks: 3, batches: 2, virtual: [1, 2], models: 1, mostGpus: 4 };

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/**
 * The best rate of one GPU of each class alone, and of a pair of one of each, within the SLO, over every cut and batch.
 */
function ratesOf({ cluster, models, planner }: PooledProblem, m = 0) {
  const { profile, sloUs, sloMarginUs } = models[m] as ProblemModel;
  const allowedUs = sloUs - sloMarginUs;
  const names = Object.keys(cluster.devices);
  const blocks = profile.blocks.length;
  const latency = (name: string, batch: string, from: number, to: number) =>
    (profile.devices[name]?.blockLatencyUs['1']?.[batch] ?? [])
      .slice(from, to)
      .reduce<number>((sum, us) => sum + Math.max(1, us ?? 0), 0);
  const single = names.map(() => 0);
  let pair = 0;
  for (const batch of ['1', '2']) {
    const size = Number(batch);
    names.forEach((name, k) => {
      const us = latency(name, batch, 0, blocks);
      if (us <= allowedUs) single[k] = Math.max(single[k] as number, (1e6 * size) / us);
    });
    for (const [first, second] of [names, [...names].reverse()] as [string, string][])
      for (let at = 1; at < blocks; at++) {
        const crossUs =
          (8 * (profile.blocks[at - 1]?.cutBytes ?? 0)) / ((cluster.networkGbps as number) * 1000);
        const [one, two] = [latency(first, batch, 0, at), latency(second, batch, at, blocks)];
        if (one + two + size * crossUs > allowedUs) continue;
        const rps = [first, second].map((name) => {
          const shared = 1e6 / (crossUs * (cluster.devices[name]?.perServer ?? 1));
          return planner.linkThroughput ? shared : Infinity;
        });
        pair = Math.max(pair, Math.min((1e6 * size) / one, (1e6 * size) / two, ...rps));
      }
  }
  return { single, pair };
}

function mostOf({ single, pair }: { single: number[]; pair: number }, gpus: readonly number[]): number {
  const [a, b] = gpus as [number, number];
  const options = Array.from(
    { length: Math.min(a, b) + 1 },
    (_, n) => n * pair + (a - n) * (single[0] as number) + (b - n) * (single[1] as number),
  );
  return Math.max(...options);
}

function gpusOf({ cluster }: PooledProblem): number[] {
  return Object.values(cluster.devices).map(({ count }) => count);
}

describeInWholeRun('planBaseline() finds the best value', () => {
  test('of one model without partitioning, and of single GPUs and pairs of two classes', () => {
    let better = 0;
    for (let seed = 1; seed <= cases(25, 100); seed++) {
      const problem = randomProblem(seed, SHAPE, { linkThroughput: seed % 2 === 0 });
      const rates = ratesOf(problem);
      for (const [baseline, wanted] of [
        ['no-partitioning', mostOf({ ...rates, pair: 0 }, gpusOf(problem))],
        ['dart-r', mostOf(rates, gpusOf(problem))],
      ] as const) {
        const outcome = planBaseline(problem, baseline, { highs });
        if (!('plan' in outcome)) {
          expect({ seed, baseline, status: outcome.status, wanted }).toEqual({
            seed,
            baseline,
            status: 'infeasible',
            wanted: 0,
          });
          continue;
        }
        const { models, objective } = outcome.plan;
        expect(outcome.plan.baseline).toBe(baseline);
        expect({ seed, baseline, ratio: (models[0]?.throughputRps as number) / wanted }).toEqual({
          seed,
          baseline,
          ratio: expect.closeTo(1, 6),
        });
        expect(
          objective.value / ((models[0]?.throughputRps as number) / (models[0]?.weight ?? 1)),
        ).toBeCloseTo(1, 9);
        expect(checkPlan(outcome.plan, baselineProblem(problem, baseline))).toEqual([]);
      }
      if (mostOf(rates, gpusOf(problem)) > mostOf({ ...rates, pair: 0 }, gpusOf(problem))) better++;
    }
    expect(better).toBeGreaterThan(3);
  });
});

/**
 * A runs both blocks in 1 ms and B in 4 ms. A pair of A and B serves 2000 requests per second, because B runs the first
 * block quickly.
 */
const ON_BOTH = {
  A: { 1: { 1: [500, 500] }, 2: { 1: [900, 900] } },
  B: { 1: { 1: [500, 3500] }, 2: { 1: [900, 9000] } },
};

describe('planBaseline() of several models', () => {
  const model = (name: string, weight = 1) => ({ name, sloMs: 10, weight, latencyUs: ON_BOTH });

  test('divides the GPUs as without partitioning, and the rest evenly, beginning with the first models', () => {
    const problem = problemByHand({ A: { count: 2, virtual: [1, 2] }, B: { count: 3, virtual: [1, 2] } }, [
      model('m'),
      model('n'),
    ]);
    const whole = planBaseline(problem, 'no-partitioning', { highs });
    const pairs = planBaseline(problem, 'dart-r', { highs });
    if (!('plan' in whole) || !('plan' in pairs)) throw new Error(`${whole.status} ${pairs.status}`);
    // Each model has an A and a B, which serve 1000 and 250 requests per second alone, and 2000 as a pair.
    expect(whole.plan.objective.value).toBeCloseTo(1250, 6);
    expect(pairs.plan.objective).toMatchObject({ value: expect.closeTo(2000, 6), gap: 0 });
    expect(pairs.plan.objective.bound).toBe(pairs.plan.objective.value);
    const sum = pairs.plan.models.reduce((total, { throughputRps }) => total + throughputRps, 0);
    expect(sum).toBeCloseTo(2 * 2000 + 250, 6);
    for (const { pipelines } of pairs.plan.models)
      for (const { partitions } of pipelines)
        expect(partitions.every(({ virtual }) => virtual === 1)).toBe(true);
  });

  test('leaves GPUs to be paired that add nothing to the least throughput/weight without partitioning', () => {
    // m runs on A and B alike. n needs A, and a B beside it serves its first block.
    const whole = { A: { 1: { 1: [500, 500] } }, B: { 1: { 1: [500, 500] } } };
    const paired = { A: { 1: { 1: [500, 500] } }, B: { 1: { 1: [500, 90_000] } } };
    const models = [
      { ...model('m'), latencyUs: whole },
      { ...model('n'), latencyUs: paired },
    ];
    const problem = problemByHand({ A: { count: 2 }, B: { count: 4 } }, models);
    const outcome = planBaseline(problem, 'dart-r', { highs });
    if (!('plan' in outcome)) throw new Error(outcome.status);
    // Both can have 2000 uncut: m with two of B, n with two of A. The other two of B go one to each.
    expect(outcome.plan.models.map(({ throughputRps }) => throughputRps)).toEqual([
      expect.closeTo(3000, 6),
      expect.closeTo(3000, 6),
    ]);
    expect(checkPlan(outcome.plan, baselineProblem(problem, 'dart-r'))).toEqual([]);
  });

  test('counts only models that have a weight in the least throughput/weight', () => {
    const problem = problemByHand({ A: { count: 2 }, B: { count: 2 } }, [model('m', 2), model('n', 0)]);
    const pairs = planBaseline(problem, 'dart-r', { highs });
    if (!('plan' in pairs)) throw new Error(pairs.status);
    expect(pairs.plan.objective.value).toBeCloseTo((pairs.plan.models[0]?.throughputRps as number) / 2, 9);
  });

  test('names the models that no part of their share can serve, or says that nothing serves any model', () => {
    const tight = { ...model('n'), sloMs: 0.9, latencyUs: { A: { 1: { 1: [500, 500] } } } };
    const cluster = { A: { count: 2 }, B: { count: 2 } };
    const one = planBaseline(problemByHand(cluster, [model('m'), tight]), 'dart-r', { highs });
    expect(one).toMatchObject({
      status: 'infeasible',
      reasons: ['no pair of GPUs and no GPU alone of its share meets the SLO of n'],
      smallestFeasibleSloMs: [undefined, undefined],
    });
    const none = planBaseline(problemByHand(cluster, [tight]), 'dart-r', { highs });
    expect(none).toMatchObject({
      status: 'infeasible',
      reasons: ['no pair of GPUs and no GPU alone meets the SLO'],
      smallestFeasibleSloMs: [undefined],
    });
  });

  test('refuses objectives and minimum shares, which pairs of GPUs cannot keep', () => {
    const cluster = { A: { count: 2, hourlyCost: 1 }, B: { count: 2, hourlyCost: 1 } };
    const asked = { ...model('m'), rps: 1, minShare: { A: 0.5 } };
    const problem = problemByHand(cluster, [asked], { objective: 'cost' });
    expect(() => planBaseline(problem, 'dart-r', { highs })).toThrow(
      /baseline dart-r:\s.*objective is cost\s+it does not support minShare, which m has/,
    );
    expect(planBaseline(problem, 'no-partitioning', { highs }).status).toBe('optimal');
  });
});

describe('baselineProblem()', () => {
  test('has whole GPUs in pools of their own, with one partition or two', () => {
    const cluster = { A: { count: 2, virtual: [1, 2] }, B: { count: 2, virtual: [2] } };
    const problem = problemByHand(cluster, [{ name: 'm', sloMs: 10, latencyUs: ON_BOTH }], {
      wholeGpusPer: 'class',
    });
    const whole = baselineProblem(problem, 'no-partitioning');
    expect(whole.planner).toMatchObject({ maxPartitions: 1, granularity: 'block', wholeGpusPer: 'pool' });
    expect(whole.cluster.devices).toEqual({
      A: { count: 2, virtual: [1] },
      B: { count: 2, virtual: [2] },
    });
    expect(baselineProblem(problem, 'dart-r').planner).toEqual({ ...whole.planner, maxPartitions: 2 });
  });
});
