import { describe, expect, it } from 'vitest';
import { classBound } from '../../src/inferline/class-bound.js';
import { searchExactly } from '../../src/inferline/exact.js';
import { estimatorOf } from '../../src/inferline/index.js';
import { leastOfStages } from '../../src/inferline/infeasible.js';
import { planPipeline, provedCost } from '../../src/inferline/planner.js';
import type { Configuration, PlanningProblem, StageCandidate } from '../../src/inferline/problem.js';
import { Trials } from '../../src/inferline/trials.js';
import { type Stream, streamOf } from '../../src/random/index.js';
import { cases, inWholeRun, whole } from '../cases.js';
import { randomProblem } from './random-problem.js';

function randomInput(seed: number, mostStages: number, requests: number, applications = seed % 5 < 2) {
  const limits = seed % 2 === 1;
  const drawn = { mostStages, requests, limits, draws: 1 + (seed % 3), applications };
  const { problem, samples } = randomProblem(seed, drawn);
  return { problem, samples, estimatorOf };
}

function randomConfiguration({ stages }: PlanningProblem, random: Stream): Configuration {
  const candidate = Int32Array.from(stages, ({ candidates }) => random.integer(candidates.length));
  const batch = Int32Array.from(stages, ({ candidates }, i) => {
    const { batches } = candidates[candidate[i] as number] as StageCandidate;
    return batches[random.integer(batches.length)] as number;
  });
  const replicas = Int32Array.from(stages, (choices) => choices.replicas ?? 1 + random.integer(6));
  return { candidate, batch, replicas };
}

/** isWithinCounts says whether a cluster has the devices of a configuration. */
function isWithinCounts(
  { stages, counts }: PlanningProblem,
  { candidate, replicas }: Configuration,
): boolean {
  return Object.entries(counts).every(([device, count]) => {
    const used = stages.map(({ candidates }, i) =>
      candidates[candidate[i] as number]?.device === device ? (replicas[i] as number) : 0,
    );
    return used.reduce((sum, one) => sum + one, 0) <= count;
  });
}

describe('classBound()', () => {
  inWholeRun('is never more than the least cost, and proves most of the least costs', () => {
    const seen = { cases: 0, tight: 0 };
    for (let seed = 0; seed < cases(whole(40, 150), 4000); seed++) {
      const trials = new Trials(randomInput(seed, 4, 30));
      const bound = classBound(trials);
      const { lowerBound: least, finished } = searchExactly(trials);
      expect(finished).toBe(true);
      expect(bound, `seed ${seed}`).toBeLessThanOrEqual(least * (1 + 1e-9));
      if (least === Number.POSITIVE_INFINITY) continue;
      seen.cases++;
      if (bound > least * (1 - 1e-9)) seen.tight++;
    }
    expect(seen.cases).toBeGreaterThan(whole(20, 80));
    expect(seen.tight / seen.cases).toBeGreaterThan(0.5);
  });

  it('is never more than the cost of any configuration that the Estimator finds feasible', () => {
    let feasible = 0;
    let limited = 0;
    for (let seed = 0; seed < cases(whole(50, 200), 4000); seed++) {
      const input = randomInput(seed, 4, 30);
      const { problem } = input;
      const trials = new Trials(input);
      const bound = classBound(trials);
      const estimators = input.samples.map((sample) => estimatorOf(problem, sample));
      const random = streamOf(seed, 'configurations');
      for (let i = 0; i < 40; i++) {
        const tried = randomConfiguration(problem, random);
        if (!isWithinCounts(problem, tried)) continue;
        const isMet = estimators.every((estimator) => {
          const { attainments } = estimator.estimate(tried);
          return problem.objectives.every(({ attainment }, k) => (attainments[k] as number) >= attainment);
        });
        if (!isMet) continue;
        feasible++;
        expect(bound, `seed ${seed}`).toBeLessThanOrEqual(trials.hourlyCost(tried) * (1 + 1e-9));
        for (const { stage, least } of leastOfStages(trials)) {
          const at = problem.graph.names.indexOf(stage);
          const { device } = trials.candidate(at, tried.candidate[at] as number);
          const told = least.find((one) => one.device === device);
          expect(told?.needed ?? 0, `seed ${seed}, ${stage}`).toBeLessThanOrEqual(
            tried.replicas[at] as number,
          );
          if (told !== undefined) limited++;
        }
        for (const [stage, batch] of tried.batch.entries()) {
          const option = { candidate: tried.candidate[stage] as number, batch };
          const proved = trials.provedReplicas(stage, option);
          expect(proved, `seed ${seed}`).toBeLessThanOrEqual(tried.replicas[stage] as number);
          expect(proved).toBeGreaterThanOrEqual(trials.leastReplicas(stage, option));
        }
      }
    }
    expect(feasible).toBeGreaterThan(whole(100, 500));
    expect(limited).toBeGreaterThan(whole(10, 50));
  });

  it('is the same whatever limits a search, and takes nothing of them', () => {
    for (let seed = 0; seed < whole(20, 60); seed++) {
      const input = randomInput(seed, 4, 30);
      const limited = { ...input, mostEstimates: 1, stop: () => true };
      expect(provedCost(limited)).toBe(provedCost(input));
      const trials = new Trials(input);
      classBound(trials);
      expect(trials.estimates).toBe(0);
    }
  });

  it('is the bound of greedy plans, and ends the exact search where that proves them', () => {
    let proved = 0;
    for (let seed = 0; seed < whole(25, 100); seed++) {
      const input = randomInput(seed, 3, 30);
      const [greedy, exact] = [planPipeline(input, 'inferline'), planPipeline(input, 'exact')];
      if (greedy.status !== 'feasible' || exact.status !== 'feasible') continue;
      expect(greedy.lowerBound).toBeCloseTo(Math.min(greedy.hourlyCost, provedCost(input)), 9);
      expect(exact.lowerBound).toBeCloseTo(exact.hourlyCost, 9);
      if (exact.estimates === greedy.estimates) proved++;
    }
    expect(proved).toBeGreaterThan(whole(5, 30));
  });
});
