import { beforeAll, describe, expect, test } from 'vitest';
import { randomProblem, type Shape } from '../../bench/refute/pooled/random-problem.js';
import type { DeviceClass, PooledSpec } from '../../src/formats/index.js';
import { type HighsEngine, loadHighs } from '../../src/lp/index.js';
import { type PooledProblem, planPooled } from '../../src/milp/index.js';
import { withSlo } from '../../src/milp/slo.js';
import { cases } from '../cases.js';
import { type ModelByHand, problemByHand } from './by-hand.js';

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/** A is quick at block 0 and B at block 1. A transfer across the cut takes 0.1 ms. */
const MODEL: ModelByHand = {
  name: 'm',
  sloMs: 1,
  cutBytes: [100_000, 0],
  latencyUs: {
    A: { 1: { 1: [300, 1500], 2: [500, 2500] }, 2: { 1: [350, 1600], 2: [600, 3000] } },
    B: { 1: { 1: [1000, 700], 2: [1500, 1100] } },
  },
};

const CLUSTER = { A: { count: 2, virtual: [1, 2] }, B: { count: 1 } };

function told(
  planner: PooledSpec['planner'],
  model: Partial<ModelByHand> = {},
  cluster: Record<string, DeviceClass> = CLUSTER,
) {
  const outcome = planPooled(problemByHand(cluster, [{ ...MODEL, ...model }], planner), { highs });
  if (outcome.status !== 'infeasible') throw new Error(outcome.status);
  return { reasons: outcome.reasons, smallest: outcome.smallestFeasibleSloMs };
}

describe('infeasibility()', () => {
  test('gives the fastest pipeline, the time of each class, and the SLO that would be enough', () => {
    const { reasons, smallest } = told({ maxPartitions: 2 });
    expect(reasons).toEqual([
      'm has 0.900 ms of its SLO of 1 ms left after the margin; its fastest pipeline takes 1.100 ms',
      'on A it takes 1.800 ms, 0.900 ms too long',
      'on B it takes 1.700 ms, 0.800 ms too long',
    ]);
    expect(smallest).toEqual([expect.closeTo(1.1 / 0.9, 9)]);
  });

  test('finds the fastest pipeline of one partition, and of more partitions than it can use', () => {
    expect(told({ maxPartitions: 1 }).smallest).toEqual([expect.closeTo(1.7 / 0.9, 9)]);
    expect(told({ maxPartitions: 3 }).smallest).toEqual([expect.closeTo(1.1 / 0.9, 9)]);
  });

  test('knows the fastest pipeline where a class behind the two of it is slow', () => {
    const latencyUs = {
      A: { 1: { 1: [300, 1500] } },
      B: { 1: { 1: [1000, 700] } },
      C: { 1: { 1: [5000, 5000] } },
    };
    const devices = { A: { count: 1 }, B: { count: 1 }, C: { count: 1 } };
    const found = told({ maxPartitions: 2 }, { latencyUs }, devices);
    expect(found.smallest).toEqual([expect.closeTo(1.1 / 0.9, 9)]);
    expect(found.reasons.at(-1)).toBe('on C it takes 10.000 ms, 9.100 ms too long');
  });

  test("keeps margins in milliseconds, and takes a model's own before the planner's", () => {
    const planner = { maxPartitions: 2, sloMarginMs: 0.2 };
    expect(told(planner).smallest).toEqual([expect.closeTo(1.3, 9)]);
    expect(told(planner, { sloMarginMs: 0.3 }).smallest).toEqual([expect.closeTo(1.4, 9)]);
    expect(told(planner, { sloMargin: 0.2 }).smallest).toEqual([expect.closeTo(1.1 / 0.8, 9)]);
    expect(told({ maxPartitions: 2 }, { sloMarginMs: 0.3 }).smallest).toEqual([expect.closeTo(1.4, 9)]);
  });

  test('counts the time that the smallest batch takes to fill, where that is more than one request', () => {
    const latencyUs = { A: { 1: { 2: [3000], 4: [4200] } } };
    const oneOfA = { A: { count: 1 } };
    const waiting = { latencyUs, sloMs: 2 };
    const planner = {
      maxPartitions: 1,
      sloMarginMs: 0.2,
      batchFormation: { estimatedRps: 1000, factor: 0.5 },
    };
    // The second request comes after 1 ms, of which half counts.
    expect(told(planner, waiting, oneOfA).smallest).toEqual([expect.closeTo(3 + 0.5 + 0.2, 9)]);
    const scaling = { maxPartitions: 1, batchFormation: { estimatedRps: 1000, factor: 0.5 } };
    expect(told(scaling, waiting, oneOfA).smallest).toEqual([expect.closeTo(3.5 / 0.9, 9)]);
  });

  test('says that no batch fills where nothing is served without partitioning', () => {
    const waiting = { latencyUs: { A: { 1: { 2: [3000] } } }, sloMs: 2 };
    const estimated = { factor: 0.5, estimatedRps: 'no-partitioning' as const };
    expect(told({ maxPartitions: 1, batchFormation: estimated }, waiting, { A: { count: 1 } })).toEqual({
      reasons: ['m fills no batch: without partitioning it serves nothing, and batch 1 was not measured'],
      smallest: [undefined],
    });
  });

  test('takes each class at a batch size that was measured on it', () => {
    const latencyUs = { A: { 1: { 1: [2000] } }, B: { 1: { 2: [1200], 4: [2400] } } };
    const devices = { A: { count: 1, memoryGiB: 1 }, B: { count: 1 } };
    const weightBytes = [2 ** 31];
    // The model fits on B alone, which was not measured at batch 1.
    expect(told({ maxPartitions: 1 }, { latencyUs, weightBytes }, devices)).toEqual({
      reasons: [
        'm has 0.900 ms of its SLO of 1 ms left after the margin; its fastest pipeline takes 1.200 ms',
        'on B it takes 1.200 ms, 0.300 ms too long',
      ],
      smallest: [expect.closeTo(1.2 / 0.9, 9)],
    });
  });

  test('leaves out a class whose memory the whole model does not fit', () => {
    const weightBytes = [2 ** 30, 2 ** 30];
    const small = { A: { count: 2, memoryGiB: 1 }, B: { count: 1 } };
    const { reasons } = told({ maxPartitions: 2 }, { weightBytes }, small);
    expect(reasons.slice(1)).toEqual(['on B it takes 1.700 ms, 0.800 ms too long']);
    const nowhere = { A: { count: 2, memoryGiB: 0.9 }, B: { count: 1, memoryGiB: 0.9 } };
    expect(told({ maxPartitions: 2 }, { weightBytes }, nowhere)).toEqual({
      reasons: ['m fits on no device: its weights exceed their memory'],
      smallest: [undefined],
    });
  });

  test('says how much of the rates can be served, or that there are too few whole GPUs', () => {
    const dear = { A: { count: 1, hourlyCost: 1 } };
    const onA = { sloMs: 9, latencyUs: { A: MODEL.latencyUs.A! } };
    // One GPU serves 2·10⁶/3000 = 666.7 requests per second.
    expect(told({ objective: 'cost' }, { ...onA, rps: 1000 }, dear).reasons).toEqual([
      'the rates need more than 1 A: at most 66.67 % of them can be served',
    ]);
    // Of 1001.3 requests, 66.5801 % can be served, which is more than 66.58 %.
    expect(told({ objective: 'cost' }, { ...onA, rps: 1001.3 }, dear).reasons).toEqual([
      expect.stringContaining('at most 66.59 % of them can be served'),
    ]);
    const models = ['m', 'n'].map((name) => ({ ...MODEL, ...onA, name, rps: 100 }));
    const both = planPooled(problemByHand(dear, models, { objective: 'cost' }), { highs });
    expect(both).toMatchObject({ reasons: ['the rates need more whole GPUs than 1 A'] });
    const served = planPooled(problemByHand({ A: { count: 1 } }, models), { highs });
    expect(served).toMatchObject({ reasons: ['1 A are too few whole GPUs to serve all of m, n'] });
  });
});

describe('smallestFeasibleSloMs', () => {
  const SHAPE: Shape = { classes: 2, blocks: 5, batches: 1, virtual: [1], models: 1, mostGpus: 2 };

  /** The same problem with as many GPUs of each class as any pipeline has partitions. */
  function withMany(problem: PooledProblem): PooledProblem {
    const devices = Object.entries(problem.cluster.devices).map(([name, one]) => [
      name,
      { ...one, count: 3 },
    ]);
    return { ...problem, cluster: { ...problem.cluster, devices: Object.fromEntries(devices) } };
  }

  test.each([
    ['sums of blocks', SHAPE],
    ['spans that were timed in one piece', { ...SHAPE, timedSpans: true as const }],
  ])('is the least SLO that has a plan, with latencies from %s', (_, shape) => {
    for (let seed = 1; seed <= cases(15, 150); seed++) {
      const problem = withMany(randomProblem(seed, shape, { maxPartitions: 1 + (seed % 3) }));
      const short = planPooled(withSlo(problem, 0, 10), { highs });
      if (short.status !== 'infeasible') throw new Error(`seed ${seed}: ${short.status}`);
      const [leastMs = Number.NaN] = short.smallestFeasibleSloMs;
      const at = (sloMs: number) => planPooled(withSlo(problem, 0, 1000 * sloMs), { highs }).status;
      expect({ seed, status: at(leastMs * (1 + 1e-11)) }).toEqual({ seed, status: 'optimal' });
      expect({ seed, status: at(leastMs * (1 - 1e-9)) }).toEqual({ seed, status: 'infeasible' });
    }
  });
});
