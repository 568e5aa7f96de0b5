import { beforeAll, describe, expect, test } from 'vitest';
import { randomProblem, type Shape } from '../../bench/refute/pooled/random-problem.js';
import { checkPlan } from '../../src/checks/index.js';
import type { DeviceProfile, ObjectiveKind, PooledSpec, Profile } from '../../src/formats/index.js';
import { type HighsEngine, loadHighs } from '../../src/lp/index.js';
import { type PlanBody, type PooledProblem, type ProblemModel, planPooled } from '../../src/milp/index.js';
import { cases } from '../cases.js';

const SHAPE: Shape = { classes: 2, blocks: 2, batches: 2, virtual: [1, 2], models: 2, mostGpus: 4 };

const OBJECTIVES: readonly ObjectiveKind[] = ['throughput', 'cost', 'power'];

const FACTORS = cases([1e-12, 7, 1e12], [1e-12, 1e-10, 1e-6, 0.3, 7, 1e5, 1e12]);

/** The planner counts a block as at least 1 µs, so times are not made much shorter. */
const TIME_FACTORS = cases([0.02, 1e12], [0.02, 7, 1e6, 1e12]);

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

type Planner = NonNullable<PooledSpec['planner']>;

/** Rules that lead to different searches: tables, searches over positions, MILPs and prices of columns. */
const RULES: readonly { name: string; planner: Planner; minShare?: Record<string, number> }[] = [
  { name: 'whole GPUs per pool', planner: {} },
  { name: 'whole GPUs per position', planner: { wholeGpusPer: 'position' } },
  { name: 'whole GPUs per class', planner: { wholeGpusPer: 'class' } },
  { name: 'sizes per server', planner: { virtualPer: 'server' } },
  { name: 'a minimum share', planner: {}, minShare: { C1: 0.3 } },
  { name: 'batches that take time to fill', planner: { batchFormation: { factor: 1.3, estimatedRps: 400 } } },
];

function problemOf(seed: number, objective: ObjectiveKind, rule: (typeof RULES)[number]): PooledProblem {
  const shape = { ...SHAPE, models: 1 + (seed % 2), mostGpus: objective === 'throughput' ? 4 : 8 };
  const random = randomProblem(seed, shape, { maxPartitions: 2, ...rule.planner, objective });
  return { ...random, models: random.models.map((one) => ({ ...one, minShare: rule.minShare ?? {} })) };
}

function withModels(problem: PooledProblem, change: (model: ProblemModel) => ProblemModel): PooledProblem {
  return { ...problem, models: problem.models.map(change) };
}

function weightsTimes(problem: PooledProblem, factor: number): PooledProblem {
  return withModels(problem, (model) => ({ ...model, weight: model.weight * factor }));
}

function pricesTimes(problem: PooledProblem, factor: number): PooledProblem {
  const devices = Object.entries(problem.cluster.devices).map(([name, device]) => [
    name,
    {
      ...device,
      hourlyCost: (device.hourlyCost as number) * factor,
      powerWatts: (device.powerWatts as number) * factor,
    },
  ]);
  return { ...problem, cluster: { ...problem.cluster, devices: Object.fromEntries(devices) } };
}

function profileTimes(profile: Profile, factor: number): Profile {
  const devices = Object.entries(profile.devices).map(([name, device]) => {
    const blockLatencyUs = Object.entries(device.blockLatencyUs).map(([v, rows]) => [
      v,
      Object.fromEntries(
        Object.entries(rows).map(([batch, row]) => [
          batch,
          row.map((us) => (us === null ? null : us * factor)),
        ]),
      ),
    ]);
    return [name, { ...device, blockLatencyUs: Object.fromEntries(blockLatencyUs) } satisfies DeviceProfile];
  });
  return { ...profile, devices: Object.fromEntries(devices) };
}

/** All times grow, so that all rates fall: required rates, estimated rates and link rates. */
function timesTimes(problem: PooledProblem, factor: number): PooledProblem {
  const scaled = withModels(problem, (model) => ({
    ...model,
    spec: { ...model.spec, sloMs: model.spec.sloMs * factor },
    profile: profileTimes(model.profile, factor),
    sloUs: model.sloUs * factor,
    sloMarginUs: model.sloMarginUs * factor,
    rps: (model.rps as number) / factor,
    batchFormation:
      model.batchFormation === 'none'
        ? 'none'
        : { ...model.batchFormation, estimatedRps: (model.batchFormation.estimatedRps as number) / factor },
  }));
  const networkGbps = (problem.cluster.networkGbps as number) / factor;
  return { ...scaled, cluster: { ...problem.cluster, networkGbps } };
}

/** The decisions of a plan, without its figures. */
function shapeOf(plan: PlanBody): unknown {
  return plan.models.map(({ pipelines }) =>
    pipelines.map(({ partitions }) =>
      partitions.map(({ blocks, device, virtual, batch, virtualGpus }) => [
        blocks,
        device,
        virtual,
        batch,
        virtualGpus,
      ]),
    ),
  );
}

interface Answer {
  readonly status: string;
  readonly shape?: unknown;
  readonly value?: number;
  readonly bound?: number;
}

function answerOf(problem: PooledProblem, seed: number): Answer {
  const outcome = planPooled(problem, { highs });
  if (!('plan' in outcome)) return { status: outcome.status };
  expect({ seed, faults: checkPlan(outcome.plan, problem) }).toEqual({ seed, faults: [] });
  const { value, bound } = outcome.plan.objective;
  return { status: outcome.status, shape: shapeOf(outcome.plan), value, bound };
}

/**
 * @param unit what the changed problem counts as 1 of the objective, in units of the first problem
 */
function expectSame(was: Answer, is: Answer, unit: number, name: string): void {
  expect({ name, status: is.status, shape: is.shape }).toEqual({
    name,
    status: was.status,
    shape: was.shape,
  });
  if (was.value === undefined || was.bound === undefined) return;
  expect({ name, value: ((is.value as number) * unit) / was.value }).toEqual({
    name,
    value: expect.closeTo(1, 9),
  });
  expect({ name, bound: ((is.bound as number) * unit) / was.bound }).toEqual({
    name,
    bound: expect.closeTo(1, 9),
  });
}

describe('planPooled() gives the same answer in whatever units a spec counts', () => {
  for (const rule of RULES)
    test(rule.name, () => {
      for (let seed = 1; seed <= cases(1, 4); seed++)
        for (const objective of OBJECTIVES) {
          const problem = problemOf(seed, objective, rule);
          const was = answerOf(problem, seed);
          const name = `seed ${seed} ${objective}`;
          const price = objective !== 'throughput';
          for (const factor of FACTORS) {
            const scaled = price ? pricesTimes(problem, factor) : weightsTimes(problem, factor);
            expectSame(
              was,
              answerOf(scaled, seed),
              price ? 1 / factor : factor,
              `${name}, weights or prices × ${factor}`,
            );
          }
          for (const factor of TIME_FACTORS)
            expectSame(
              was,
              answerOf(timesTimes(problem, factor), seed),
              price ? 1 : factor,
              `${name}, times × ${factor}`,
            );
        }
    });
});
