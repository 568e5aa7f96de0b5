import { beforeAll, describe, expect, test } from 'vitest';
import type { PooledSpec } from '../../src/artifacts/index.js';
import {
  checkPlan,
  type HighsEngine,
  loadHighs,
  type PlanOptions,
  type PooledOutcome,
  type PooledProblem,
  planPooled,
} from '../../src/milp/index.js';
import { cases } from '../cases.js';
import { bruteForce } from './brute-force.js';
import { randomProblem, type Shape } from './random-problem.js';

const RULES = ['pool', 'position', 'class'] as const;

const TINY: Shape = { classes: 2, blocks: 3, batches: 2, virtual: [1, 2], models: 1, mostGpus: 2 };

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/** What rounding makes of sums of a few terms. */
const ROUNDING = 1e-9;

/** Options that end a search early, or lead it elsewhere. `gap: 0` with much work finds the optimum. */
const OPTIONS: readonly Omit<PlanOptions, 'highs'>[] = [
  { gap: 0, work: 1e6 },
  {},
  { gap: 0.2 },
  { gap: 0, work: 1 },
];

/**
 * Expects of every search that its bound is no better and its plan no worse than the best value, that what it calls optimal is
 * the best, and that the checker has nothing to say.
 */
function expectSound(name: string, problem: PooledProblem, best: number | undefined): void {
  for (const options of [...OPTIONS, endingAfter(1), endingAfter(5)]) {
    const outcome = planPooled(problem, { highs, ...options });
    expectHolds(`${name} ${JSON.stringify(options)}`, problem, outcome, best);
    if (options.work === 1e6) expectProved(name, problem, outcome, best);
  }
}

/** With enough work the search proves what it found; rates that are shared out are known as well as the solver knows them. */
function expectProved(
  name: string,
  { models }: PooledProblem,
  outcome: PooledOutcome,
  best: number | undefined,
): void {
  const shared = models.some(({ minShare }) => Object.keys(minShare).length > 0);
  if (shared && 'plan' in outcome) expect(outcome.plan.objective.gap).toBeLessThanOrEqual(2e-6);
  else {
    const status = best === undefined ? 'infeasible' : 'optimal';
    expect({ name, status: outcome.status }).toEqual({ name, status });
  }
}

function endingAfter(questions: number): Omit<PlanOptions, 'highs'> {
  let asked = 0;
  return { interrupted: () => ++asked > questions };
}

function expectHolds(
  name: string,
  problem: PooledProblem,
  outcome: PooledOutcome,
  best: number | undefined,
): void {
  if (outcome.status === 'infeasible') expect({ name, best }).toEqual({ name, best: undefined });
  if (!('plan' in outcome)) return;
  const { plan } = outcome;
  expect({ name, faults: checkPlan(plan, problem) }).toEqual({ name, faults: [] });
  if (best === undefined) throw new Error(`${name}: a plan of ${plan.objective.value} where there is none`);
  const { value, bound } = plan.objective;
  const [low, high] = problem.planner.objective === 'throughput' ? [value, bound] : [bound, value];
  expect({ name, low, isLow: low <= best * (1 + ROUNDING) }).toEqual({ name, low, isLow: true });
  expect({ name, high, isHigh: high >= best * (1 - ROUNDING) }).toEqual({ name, high, isHigh: true });
  if (outcome.status === 'optimal')
    expect({ name, off: Math.abs(value / best - 1) <= ROUNDING, value, best }).toEqual({
      name,
      off: true,
      value,
      best,
    });
}

function withMinShare(problem: PooledProblem, minShare: Record<string, number>): PooledProblem {
  return { ...problem, models: problem.models.map((model) => ({ ...model, minShare })) };
}

/** The search against the literal formulation, and both plans against the checker. */
function bothAgree(
  seed: number,
  shape: Shape,
  planner: PooledSpec['planner'],
  minShare: Record<string, number> = {},
): void {
  const problem = withMinShare(randomProblem(seed, shape, { maxPartitions: 2, ...planner }), minShare);
  const literal = planPooled(problem, { highs, gap: 0, work: 1e6, formulation: 'literal', copies: 2 });
  if (!('plan' in literal)) expect({ seed, status: literal.status }).toEqual({ seed, status: 'infeasible' });
  const best = 'plan' in literal ? literal.plan.objective.value : undefined;
  expectHolds(`seed ${seed} literal`, problem, literal, best);
  const columns = planPooled(problem, { highs, gap: 0, work: 1e6 });
  expectHolds(`seed ${seed}`, problem, columns, best);
}

describe('planPooled() finds the optimum of the literal A.2', () => {
  for (const [wholeGpusPer, seeds] of [
    ['pool', cases(3, 30)],
    ['position', cases(2, 20)],
    ['class', cases(1, 8)],
  ] as const)
    test(`when whole GPUs are per ${wholeGpusPer}`, () => {
      for (let seed = 1; seed <= seeds; seed++) bothAgree(seed, TINY, { wholeGpusPer });
    });

  test('when two models share the cluster', () => {
    for (let seed = 1; seed <= cases(4, 40); seed++) {
      const wholeGpusPer = RULES[seed % 3] as 'pool';
      bothAgree(seed, { ...TINY, models: 2, blocks: 2 }, { wholeGpusPer });
    }
  });

  test('when batches are free and take time to fill', () => {
    for (let seed = 1; seed <= cases(4, 40); seed++)
      bothAgree(seed, TINY, { unifiedBatch: false, batchFormation: { factor: 1.3, estimatedRps: 400 } });
  });

  test('when links do not bound rates, or there are three classes', () => {
    for (let seed = 1; seed <= cases(3, 20); seed++) {
      const wholeGpusPer = RULES[seed % 3] as 'pool';
      bothAgree(seed, { ...TINY, blocks: 2 }, { wholeGpusPer, linkThroughput: false });
      bothAgree(seed, { ...TINY, classes: 3, blocks: 2, mostGpus: 1 }, { wholeGpusPer });
    }
  });

  test('when two models share the cluster at the least cost', () => {
    for (let seed = 1; seed <= cases(3, 30); seed++) {
      const wholeGpusPer = RULES[seed % 3] as 'pool';
      bothAgree(seed, { ...TINY, models: 2, blocks: 2, mostGpus: 3 }, { objective: 'cost', wholeGpusPer });
    }
  });

  test('when a class must take part', () => {
    for (let seed = 1; seed <= cases(3, 25); seed++) bothAgree(seed, TINY, {}, { C1: 0.3 });
  });

  test('when the objective is cost or power', () => {
    for (let seed = 1; seed <= cases(3, 21); seed++)
      bothAgree(
        seed,
        { ...TINY, mostGpus: 3 },
        { objective: seed % 2 === 0 ? 'cost' : 'power', wholeGpusPer: RULES[seed % 3] as 'pool' },
      );
  });
});

/** Rules of a spec that change what is searched, and how. */
const SPECS: readonly { name: string; planner: PooledSpec['planner']; minShare?: Record<string, number> }[] =
  [
    { name: 'whole GPUs are per pool', planner: {} },
    { name: 'whole GPUs are per position', planner: { wholeGpusPer: 'position' } },
    { name: 'whole GPUs are per class', planner: { wholeGpusPer: 'class' } },
    { name: 'a server has one size', planner: { virtualPer: 'server' } },
    {
      name: 'a server has one size and positions fill GPUs',
      planner: { virtualPer: 'server', wholeGpusPer: 'position' },
    },
    { name: 'a class must take part', planner: {}, minShare: { C1: 0.3 } },
    {
      name: 'batches are free, take time to fill, and links bound nothing',
      planner: {
        unifiedBatch: false,
        linkThroughput: false,
        batchFormation: { factor: 1.3, estimatedRps: 400 },
      },
    },
  ];

describe('planPooled() never calls optimal what a brute force beats, and bounds what it finds', () => {
  for (const { name, planner, minShare = {} } of SPECS)
    for (const objective of ['throughput', 'cost', 'power'] as const)
      test(`of ${objective} when ${name}`, () => {
        for (let seed = 1; seed <= cases(1, 12); seed++) {
          const shape = { ...TINY, blocks: 2, models: 1 + (seed % 2) };
          const random = randomProblem(seed, shape, { maxPartitions: 2, objective, ...planner });
          const problem = withMinShare(random, minShare);
          expectSound(`seed ${seed}`, problem, bruteForce(problem));
        }
      });

  test('of cost when the rates need but a small part of a GPU', () => {
    for (let seed = 1; seed <= cases(1, 6); seed++)
      for (const factor of [1e-9, 1e-4]) {
        const random = randomProblem(
          seed,
          { ...TINY, blocks: 2, models: 2 },
          { maxPartitions: 2, objective: 'cost' },
        );
        const models = random.models.map((model) => ({ ...model, rps: (model.rps as number) * factor }));
        const problem = { ...random, models };
        expectSound(`seed ${seed} rates × ${factor}`, problem, bruteForce(problem));
      }
  });
});
