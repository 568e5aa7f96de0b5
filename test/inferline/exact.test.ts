import { describe, expect, it } from 'vitest';
import { searchExactly } from '../../src/inferline/exact.js';
import { planPipeline, provedCost } from '../../src/inferline/planner.js';
import { Trials } from '../../src/inferline/trials.js';
import { cases, whole } from '../cases.js';
import { everyConfiguration } from './every-configuration.js';
import { plainEstimator } from './plain-estimator.js';
import { randomProblem } from './random-problem.js';

const CASES = cases(whole(10, 30), 400);
const REQUESTS = 20;

describe('planPipeline with the exact method', () => {
  it.each([
    ['', false],
    [', where each application asks for its own', true],
  ])('finds the least cost of all configurations, or that none is feasible%s', (_, applications) => {
    const seen = { feasible: 0, infeasible: 0, undecided: 0, dearer: 0, ended: 0 };
    for (let seed = 0; seed < CASES; seed++) {
      const { problem, samples } = randomProblem(seed, {
        mostStages: 2,
        requests: REQUESTS,
        limits: seed % 2 === 1,
        draws: 1 + (seed % 3),
        keepsUp: seed % 5 < 2,
        applications,
      });
      const estimators = samples.map((sample) => plainEstimator(problem, sample));
      let least = Number.POSITIVE_INFINITY;
      for (const { tried, cost } of everyConfiguration(problem, REQUESTS)) {
        if (cost >= least) continue;
        const isMet = estimators.every((estimator) => {
          const { attainments } = estimator.estimate(tried);
          return problem.objectives.every(({ attainment }, k) => (attainments[k] as number) >= attainment);
        });
        if (isMet) least = cost;
      }
      const alone = searchExactly(new Trials({ problem, samples, estimatorOf: plainEstimator }));
      expect([alone.finished, alone.configuration !== undefined], `seed ${seed}`).toEqual([
        true,
        least < Number.POSITIVE_INFINITY,
      ]);
      if (alone.configuration !== undefined) expect(alone.lowerBound, `seed ${seed}`).toBeCloseTo(least, 9);
      const bound = provedCost({ problem, samples, estimatorOf: plainEstimator });
      expect(bound, `seed ${seed}`).toBeLessThanOrEqual(least * (1 + 1e-9));
      const outcome = planPipeline({ problem, samples, estimatorOf: plainEstimator }, 'exact');
      seen[outcome.status]++;
      expect(outcome.status, `seed ${seed}`).toBe(
        least < Number.POSITIVE_INFINITY ? 'feasible' : 'infeasible',
      );
      if (outcome.status !== 'feasible') continue;
      expect(outcome.hourlyCost, `seed ${seed}`).toBeCloseTo(least, 9);
      expect(outcome.lowerBound, `seed ${seed}`).toBeCloseTo(least, 9);
      const near = planPipeline({ problem, samples, estimatorOf: plainEstimator, gap: 0.3 }, 'exact');
      if (near.status !== 'feasible') throw new Error(`seed ${seed} was not planned`);
      expect(near.finished, `seed ${seed}`).toBe(true);
      expect(near.lowerBound, `seed ${seed}`).toBeLessThanOrEqual(least + 1e-9);
      expect(near.hourlyCost, `seed ${seed}`).toBeLessThanOrEqual(near.lowerBound * 1.3 + 1e-9);
      if (near.lowerBound < least - 1e-9) seen.ended++;
      const greedy = planPipeline({ problem, samples, estimatorOf: plainEstimator }, 'inferline');
      if (greedy.status !== 'feasible') throw new Error(`seed ${seed} was not planned`);
      expect(greedy.lowerBound, `seed ${seed}`).toBeLessThanOrEqual(least + 1e-9);
      if (greedy.hourlyCost > least + 1e-9) seen.dearer++;
    }
    expect(Math.min(seen.feasible, seen.infeasible), JSON.stringify(seen)).toBeGreaterThan(CASES / 20);
    expect(seen.ended, JSON.stringify(seen)).toBeGreaterThan(0);
    expect(seen.dearer, JSON.stringify(seen)).toBeLessThan(seen.feasible / 2);
  });
});
