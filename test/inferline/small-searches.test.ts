import { describe, expect, it } from 'vitest';
import { classBound } from '../../src/inferline/class-bound.js';
import { searchExactly } from '../../src/inferline/exact.js';
import { explainPipeline } from '../../src/inferline/explain.js';
import { estimatorOf } from '../../src/inferline/index.js';
import { initialize } from '../../src/inferline/initialize.js';
import { planPipeline, provedCost, provedForAll } from '../../src/inferline/planner.js';
import type { Configuration, PlanningProblem, Sample } from '../../src/inferline/problem.js';
import { type PlannerInput, Trials } from '../../src/inferline/trials.js';
import { readStageGraph } from '../../src/plans/index.js';
import { inWholeRun } from '../cases.js';
import { everyConfiguration } from './every-configuration.js';
import { plainEstimator } from './plain-estimator.js';
import { randomProblem } from './random-problem.js';

/** Random problems are so small that all of their configurations are tried here; larger ones are in the tests beside. */
const REQUESTS = 6;
const SEEDS = Array.from({ length: 24 }, (_, seed) => seed);

function inputOf(seed: number): PlannerInput {
  const { problem, samples } = randomProblem(seed, {
    mostStages: 2,
    requests: REQUESTS,
    limits: seed % 2 === 1,
    draws: 1 + (seed % 3),
    keepsUp: seed % 5 < 2,
    applications: seed % 4 === 3,
    batches: [1, 2],
  });
  return { problem, samples, estimatorOf: plainEstimator };
}

function meets(problem: PlanningProblem, samples: readonly Sample[], tried: Configuration): boolean {
  return samples.every((sample) => {
    const { attainments } = plainEstimator(problem, sample).estimate(tried);
    return problem.objectives.every(({ attainment }, k) => (attainments[k] as number) >= attainment);
  });
}

/** leastCost is the cost of the cheapest configuration that meets the objectives on every sample. */
function leastCost({ problem, samples }: PlannerInput): number {
  let least = Number.POSITIVE_INFINITY;
  for (const { tried, cost } of everyConfiguration(problem, REQUESTS))
    if (cost < least && meets(problem, samples, tried)) least = cost;
  return least;
}

const withSlos = (input: PlannerInput, sloNs: readonly number[]): PlannerInput => ({
  ...input,
  problem: {
    ...input.problem,
    objectives: input.problem.objectives.map((one, k) => ({ ...one, sloNs: sloNs[k] as number })),
  },
});

/** withoutTies makes times unequal, since the two estimators serve what comes at one time in different orders. */
function withoutTies({ problem, samples }: PlannerInput): { problem: PlanningProblem; sample: Sample } {
  const stages = problem.stages.map((choices, i) => ({
    ...choices,
    candidates: choices.candidates.map((one, k) => ({
      ...one,
      latencyNs: one.latencyNs.map((ns, n) => 100_003 * ns + 101 * n + 1009 * k + 10_007 * i),
    })),
  }));
  const [sample] = samples as [Sample];
  const atNs = sample.atNs.map((ns, i) => 100_003 * ns + 997 * i * i);
  return { problem: { ...problem, stages }, sample: { ...sample, atNs } };
}

describe('Searches of small problems', () => {
  inWholeRun(
    'find the least cost of all configurations, prove bounds below it, or say what is in the way',
    () => {
      const seen = { feasible: 0, infeasible: 0, told: 0 };
      for (const seed of SEEDS) {
        const input = inputOf(seed);
        const least = leastCost(input);
        const isFeasible = least < Number.POSITIVE_INFINITY;
        const alone = searchExactly(new Trials(input));
        expect([alone.finished, alone.configuration !== undefined], `seed ${seed}`).toEqual([
          true,
          isFeasible,
        ]);
        const bounds = [classBound(new Trials(input)), classBound(new Trials(input), 'nothing')];
        for (const bound of [...bounds, provedCost(input), provedForAll(input)])
          expect(bound, `seed ${seed}`).toBeLessThanOrEqual(least * (1 + 1e-9));
        const [exact, greedy] = (['exact', 'inferline'] as const).map((method) =>
          planPipeline(input, method),
        );
        seen[isFeasible ? 'feasible' : 'infeasible']++;
        if (exact?.status === 'infeasible') {
          expect([isFeasible, greedy?.status], `seed ${seed}`).toEqual([false, 'infeasible']);
          expect(exact.reasons.length).toBeGreaterThan(0);
          if (exact.least === undefined) continue;
          seen.told++;
          const met = leastCost(withSlos(input, exact.least.sloNs));
          expect(exact.least.hourlyCost, `seed ${seed}`).toBeCloseTo(met, 9);
          // No step between is much shorter.
          const shorter = exact.least.sloNs.map((ns, k) =>
            Math.max(input.problem.objectives[k]!.sloNs, Math.floor(ns / 1.03) - 1),
          );
          if (
            shorter.every((ns, k) => ns < exact.least!.sloNs[k]! || ns === input.problem.objectives[k]!.sloNs)
          )
            expect(leastCost(withSlos(input, shorter)), `seed ${seed}`).toBe(Number.POSITIVE_INFINITY);
          continue;
        }
        if (exact?.status !== 'feasible' || greedy?.status !== 'feasible') throw new Error(`seed ${seed}`);
        expect([exact.hourlyCost, exact.lowerBound], `seed ${seed}`).toEqual([
          expect.closeTo(least, 9),
          expect.closeTo(least, 9),
        ]);
        expect([exact.finished, greedy.finished], `seed ${seed}`).toEqual([true, true]);
        expect(alone.lowerBound, `seed ${seed}`).toBeCloseTo(least, 9);
        expect(greedy.hourlyCost, `seed ${seed}`).toBeGreaterThanOrEqual(least - 1e-9);
        expect(greedy.hourlyCost, `seed ${seed}`).toBeLessThanOrEqual(least * 1.5 + 1e-9);
        for (const { configuration } of [exact, greedy])
          expect(meets(input.problem, input.samples, configuration), `seed ${seed}`).toBe(true);
      }
      expect(Math.min(seen.feasible, seen.infeasible, seen.told), JSON.stringify(seen)).toBeGreaterThan(3);
    },
  );

  it('answer alike by the Estimator and by the plain one', () => {
    for (const seed of SEEDS) {
      const { problem, sample } = withoutTies(inputOf(seed));
      const configurations = [...everyConfiguration(problem, 3)].map(({ tried }) => tried);
      const estimator = estimatorOf(problem, sample);
      for (const tried of configurations.filter((_, i) => i % 7 === seed % 7)) {
        const estimate = estimator.estimate(tried);
        const plain = plainEstimator(problem, sample).estimate(tried);
        expect([...estimate.latencyNs], `seed ${seed}`).toEqual([...plain.latencyNs]);
        expect(estimate.attainments, `seed ${seed}`).toEqual(plain.attainments);
      }
    }
  });

  it('explain what a replica more or less and other classes bring', () => {
    let options = 0;
    for (const seed of SEEDS.slice(0, 10)) {
      const input = inputOf(seed);
      const outcome = planPipeline(input, 'inferline');
      if (outcome.status !== 'feasible') continue;
      const { configuration, trail } = outcome;
      const told = explainPipeline(input, configuration, trail);
      const attainments = (replicas: Int32Array) => {
        const ofDraws = input.samples.map(
          (sample) =>
            plainEstimator(input.problem, sample).estimate({ ...configuration, replicas }).attainments,
        );
        return input.problem.objectives.map((_, k) => Math.min(...ofDraws.map((one) => one[k] as number)));
      };
      told.stages.forEach(({ oneMore, oneLess, classes }, stage) => {
        const count = configuration.replicas[stage] as number;
        expect(oneMore, `seed ${seed}`).toEqual(attainments(configuration.replicas.with(stage, count + 1)));
        if (count > 1)
          expect(oneLess, `seed ${seed}`).toEqual(attainments(configuration.replicas.with(stage, count - 1)));
        else expect(oneLess, `seed ${seed}`).toBe(undefined);
        for (const { option, extraCost } of classes) {
          if (option === undefined) continue;
          options++;
          expect(extraCost).toBeGreaterThanOrEqual(-1e-9);
        }
      });
    }
    expect(options).toBeGreaterThan(5);
  });

  inWholeRun(
    'are stopped by a limit with a bound that holds, and never call infeasible what has a plan',
    () => {
      const seen = { undecided: 0, feasible: 0 };
      for (const seed of SEEDS) {
        const input = inputOf(seed);
        const least = leastCost(input);
        if (least === Number.POSITIVE_INFINITY) continue;
        for (const mostEstimates of [1, 4, 12]) {
          const outcome = planPipeline({ ...input, mostEstimates }, 'exact');
          if (outcome.status === 'infeasible') throw new Error(`seed ${seed}`);
          seen[outcome.status]++;
          expect(outcome.lowerBound, `seed ${seed}`).toBeLessThanOrEqual(least * (1 + 1e-9));
          if (outcome.status === 'undecided') expect(outcome.isCut).toBe(true);
          else expect(outcome.hourlyCost, `seed ${seed}`).toBeGreaterThanOrEqual(least - 1e-9);
        }
        const near = planPipeline({ ...input, gap: 0.3 }, 'exact');
        if (near.status !== 'feasible') throw new Error(`seed ${seed}`);
        expect(near.hourlyCost, `seed ${seed}`).toBeLessThanOrEqual(near.lowerBound * 1.3 + 1e-9);
        expect(near.lowerBound, `seed ${seed}`).toBeLessThanOrEqual(least + 1e-9);
      }
      expect(seen.feasible, JSON.stringify(seen)).toBeGreaterThan(9);
    },
  );
});

/** Two stages in a row: the second takes three times as long, and on class b a fifth of that, for five times the price. */
function chainOf(counts: Readonly<Record<string, number>>, slowMs = 30): PlannerInput {
  const { graph } = readStageGraph({ stages: [{ name: 'quick', next: ['slow'] }, { name: 'slow' }] });
  const candidates = (ms: number) => [
    { device: 'a', batches: [1], latencyNs: Float64Array.of(1e6 * ms), hourlyCost: 1 },
    { device: 'b', batches: [1], latencyNs: Float64Array.of(2e5 * ms), hourlyCost: 5 },
  ];
  const problem: PlanningProblem = {
    graph,
    stages: [{ candidates: candidates(10) }, { candidates: candidates(slowMs) }],
    objectives: [{ attainment: 1, sloNs: 45e6 }],
    counts,
  };
  const atNs = Float64Array.from({ length: 60 }, (_, i) => 1e7 * i);
  return { problem, samples: [{ atNs, verdicts: [undefined, undefined] }], estimatorOf };
}

describe('Two stages on one class', () => {
  it('share its devices by what each needs', () => {
    const onA = ({ problem, ...rest }: PlannerInput): PlannerInput => {
      const stages = problem.stages.map(({ candidates }) => ({ candidates: candidates.slice(0, 1) }));
      return { ...rest, problem: { ...problem, stages } };
    };
    const begun = (counts: Readonly<Record<string, number>>) =>
      initialize(new Trials(onA(chainOf(counts)))).map(({ replicas }) => [...replicas]);
    expect(begun({ a: 4 })[0]).toEqual([1, 3]);
    expect(begun({ a: 3 })).toEqual([]);
    expect(begun({}).length).toBe(3);
  });

  it('have a bound that counts the devices of all stages', () => {
    const bound = (counts: Readonly<Record<string, number>>) =>
      classBound(new Trials(chainOf(counts)), 'nothing');
    expect(bound({})).toBe(4);
    // Of three devices, either stage has some, and the other one is on the dear class.
    expect(bound({ a: 3 })).toBe(1 + 5);
    expect(bound({ a: 0 })).toBe(10);
    expect(bound({ a: 0, b: 1 })).toBe(Number.POSITIVE_INFINITY);
    expect(planPipeline(chainOf({ a: 3 }), 'exact')).toMatchObject({ status: 'feasible', hourlyCost: 6 });
  });
});
