import { beforeAll, describe, expect, test } from 'vitest';
import { BruteForce } from '../../bench/refute/pooled/brute-force.js';
import { randomProblem, type Shape } from '../../bench/refute/pooled/random-problem.js';
import { checkPlan } from '../../src/checks/index.js';
import type { ObjectiveKind, PooledSpec } from '../../src/formats/index.js';
import { type HighsEngine, loadHighs } from '../../src/lp/index.js';
import {
  type PlanOptions,
  type PooledOutcome,
  type PooledProblem,
  planPooled,
} from '../../src/milp/index.js';
import { cases, whole } from '../cases.js';
import { problemByHand } from './by-hand.js';

const RULES = ['pool', 'position', 'class'] as const;

const TINY: Shape = { classes: 2, blocks: 3, batches: 2, virtual: [1, 2], models: 1, mostGpus: 2 };

/** range gives the seeds from 1 to `last`. */
function range(last: number): number[] {
  return Array.from({ length: last }, (_, i) => i + 1);
}

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/** The rounding error of a sum of a few terms. */
const ROUNDING = 1e-9;

/** Options that end a search early, or lead it elsewhere. `gap: 0` with much work finds the optimum. */
const OPTIONS: readonly Omit<PlanOptions, 'highs'>[] = [
  { gap: 0, work: 1e6 },
  {},
  { gap: 0.2 },
  { gap: 0, work: 1 },
];

/**
 * Expects of every search that its bound is no better and its plan no worse than the best value, that an optimal plan
 * has the best value, and that the checker finds no fault.
 */
function expectSound(name: string, problem: PooledProblem, best: number | undefined): void {
  for (const options of [...OPTIONS, endingAfter(1), endingAfter(5)]) {
    const outcome = planPooled(problem, { highs, ...options });
    expectHolds(`${name} ${JSON.stringify(options)}`, problem, outcome, best);
    if (options.work === 1e6) expectProved(name, problem, outcome, best);
  }
}

/**
 * With enough work the search proves its plan optimal. Where shares are asked for and the tables do not prove it, the
 * gap is only as small as the solver's tolerance.
 */
function expectProved(
  name: string,
  { models, planner }: PooledProblem,
  outcome: PooledOutcome,
  best: number | undefined,
): void {
  const shared = models.some(({ minShare }) => Object.keys(minShare).length > 0);
  if (shared && planner.wholeGpusPer !== 'pool' && 'plan' in outcome)
    expect(outcome.plan.objective.gap).toBeLessThanOrEqual(2e-6);
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

/** Compares the search with the literal formulation, and checks both plans. */
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
    ['pool', cases(whole([4], [3, 4]), range(30))],
    ['position', cases(whole([1], [1, 3, 6]), range(20))],
    ['class', cases(whole([3], [1, 3, 6]), range(8))],
  ] as const)
    test(`when whole GPUs are per ${wholeGpusPer}`, () => {
      for (const seed of seeds) bothAgree(seed, TINY, { wholeGpusPer });
    });

  test('when two models share the cluster', () => {
    for (const seed of cases(whole([3], [1, 3, 4]), range(40))) {
      const wholeGpusPer = RULES[seed % 3] as 'pool';
      bothAgree(seed, { ...TINY, models: 2, blocks: 2 }, { wholeGpusPer });
    }
  });

  test('when batches are free and take time to fill', () => {
    for (const seed of cases(whole([3], [1, 3, 4]), range(40)))
      bothAgree(seed, TINY, { unifiedBatch: false, batchFormation: { factor: 1.3, estimatedRps: 400 } });
  });

  test('when links do not bound rates, or there are three classes', () => {
    for (const seed of cases(range(whole(1, 3)), range(20))) {
      const wholeGpusPer = RULES[seed % 3] as 'pool';
      bothAgree(seed, { ...TINY, blocks: 2 }, { wholeGpusPer, linkThroughput: false });
      bothAgree(seed, { ...TINY, classes: 3, blocks: 2, mostGpus: 1 }, { wholeGpusPer });
    }
  });

  test('when two models share the cluster at the least cost', () => {
    for (const seed of cases(whole([3], [1, 3, 5]), range(30))) {
      const wholeGpusPer = RULES[seed % 3] as 'pool';
      bothAgree(seed, { ...TINY, models: 2, blocks: 2, mostGpus: 3 }, { objective: 'cost', wholeGpusPer });
    }
  });

  test('when a class must take part', () => {
    for (const seed of cases(whole([3], [1, 3, 4]), range(25))) bothAgree(seed, TINY, {}, { C1: 0.3 });
  });

  test('when the objective is cost or power', () => {
    for (const seed of cases(range(whole(1, 3)), range(21)))
      bothAgree(
        seed,
        { ...TINY, mostGpus: 3 },
        { objective: seed % 2 === 0 ? 'cost' : 'power', wholeGpusPer: RULES[seed % 3] as 'pool' },
      );
  });
});

describe('planPooled() by the literal formulation', () => {
  // A GPU has no room for all four blocks. Pipelines of (1, 2) and (1, 1) GPUs with the first two cuts, and (3, 1) with
  // the last one, serve 100 + 66.7 + 136.4 requests per second; two pipelines serve at most 300.
  const stated = (rps: number, planner: PooledSpec['planner']) =>
    problemByHand(
      { A: { count: 9, memoryGiB: 3.5, hourlyCost: 1 } },
      [
        {
          name: 'm',
          sloMs: 1000,
          rps,
          latencyUs: { A: { 1: { 1: [9000, 5000, 8000, 7000] } } },
          weightBytes: [1, 1, 1, 1].map((GiB) => GiB * 2 ** 30),
        },
      ],
      { maxPartitions: 2, ...planner },
    );
  const solved = (problem: PooledProblem, options: Partial<PlanOptions>) =>
    planPooled(problem, { highs, gap: 0, work: 1e6, ...options });

  test('proves nothing where its copies of a pipeline serve too little and more of them serve enough', () => {
    const problem = stated(302, { objective: 'cost' });
    const literal = solved(problem, { formulation: 'literal', copies: 2 });
    expect(literal).toMatchObject({ status: 'no-plan-in-time', limit: 'copies' });
    expect(literal).not.toHaveProperty('plan');
    for (const options of [{}, { formulation: 'literal', copies: 3 }] as const) {
      const outcome = solved(problem, options);
      expectHolds('three pipelines', problem, outcome, 9);
      expect(outcome.status).toBe('optimal');
    }
  });

  test('has two copies of each pipeline where nothing else is said, and serves the most with three', () => {
    const most = stated(1, { objective: 'throughput' });
    const rates = [{}, { copies: 2 }, { copies: 3 }].map((copies) => {
      const outcome = solved(most, { formulation: 'literal', ...copies });
      return 'plan' in outcome ? outcome.plan.objective.value : undefined;
    });
    expect(rates).toEqual([300, 300, 100 + 200 / 3 + 1500 / 11].map((rps) => expect.closeTo(rps, 6)));
    expect(solved(stated(300, { objective: 'cost' }), { formulation: 'literal' }).status).toBe('optimal');
  });

  test('calls infeasible only what the columns prove to be', () => {
    const statusOf = (rps: number, options: Partial<PlanOptions>) =>
      solved(stated(rps, { objective: 'cost' }), options).status;
    // All GPUs together serve 9 / 29 ms, were they filled; whole ones serve less than 304 a second.
    expect(statusOf(311, { formulation: 'literal' })).toBe('infeasible');
    expect(statusOf(304, { formulation: 'literal' })).toBe('no-plan-in-time');
    expect(statusOf(304, {})).toBe('infeasible');
  });
});

/** Rules of a spec that change the search. */
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
      name: 'a class must take most, and whole GPUs are per class',
      planner: { wholeGpusPer: 'class' },
      minShare: { C1: 0.7 },
    },
    {
      name: 'a class must take most, and whole GPUs are per position',
      planner: { wholeGpusPer: 'position' },
      minShare: { C1: 0.7 },
    },
    {
      name: 'batches are free, take time to fill, and links bound nothing',
      planner: {
        unifiedBatch: false,
        linkThroughput: false,
        batchFormation: { factor: 1.3, estimatedRps: 400 },
      },
    },
  ];

/**
 * Seeds of the quick run. Every rule has plans among them, and, except for the shares, models that share the cluster.
 */
const QUICK = [1, 2];

/** The solver proves these quickly. With shares, other seeds take seconds. */
const QUICK_SHARES = [2, 3, 4, 6];

describe('planPooled() never calls a plan optimal that a brute force beats, and bounds its plans', () => {
  for (const { name, planner, minShare = {} } of SPECS)
    test(`when ${name}`, () => {
      const quick = Object.keys(minShare).length > 0 ? QUICK_SHARES : QUICK;
      for (const seed of cases(whole(quick.slice(0, 1), quick), range(12))) {
        const shape = { ...TINY, blocks: 2, models: 1 + (seed % 2) };
        const problemOf = (objective: ObjectiveKind) =>
          withMinShare(randomProblem(seed, shape, { maxPartitions: 2, objective, ...planner }), minShare);
        const brute = new BruteForce(problemOf('throughput'));
        for (const objective of ['throughput', 'cost', 'power'] as const)
          expectSound(`seed ${seed} ${objective}`, problemOf(objective), brute.best(objective));
      }
    });

  for (const { name, planner, minShare = {} } of SPECS)
    test(`when spans were timed in one piece, and ${name}`, () => {
      for (const seed of cases([1], range(8))) {
        const shape: Shape = { ...TINY, timedSpans: true, mostGpus: 1 + (seed % 2) };
        const problemOf = (objective: ObjectiveKind) =>
          withMinShare(randomProblem(seed, shape, { maxPartitions: 3, objective, ...planner }), minShare);
        const brute = new BruteForce(problemOf('throughput'));
        for (const objective of ['throughput', 'cost'] as const)
          expectSound(`seed ${seed} ${objective}`, problemOf(objective), brute.best(objective));
      }
    });

  test('when the rates need only a small part of a GPU, at the least cost', () => {
    for (const seed of cases([1], range(6))) {
      const shape = { ...TINY, blocks: 2, models: 2 };
      const random = randomProblem(seed, shape, { maxPartitions: 2, objective: 'cost' });
      for (const factor of [1e-9, 1e-4]) {
        const models = random.models.map((model) => ({ ...model, rps: (model.rps as number) * factor }));
        const problem = { ...random, models };
        const best = new BruteForce(problem).best('cost');
        expectSound(`seed ${seed} rates × ${factor}`, problem, best);
      }
    }
  });
});
