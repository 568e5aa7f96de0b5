import { describe, expect, it } from 'vitest';
import { initialize } from '../../src/inferline/initialize.js';
import { minimize } from '../../src/inferline/minimize.js';
import type { Configuration, PipelineEstimator, PlanningProblem } from '../../src/inferline/problem.js';
import { isCheaper, optionOf, Trials, withOption } from '../../src/inferline/trials.js';
import { cases, describeInWholeRun, whole } from '../cases.js';
import { plainEstimator } from './plain-estimator.js';
import { randomProblem } from './random-problem.js';

const CASES = cases(whole(60, 300), 2000);

/** isFeasible asks the plain estimator, without what the planner knows besides. */
function isFeasible(problem: PlanningProblem, estimator: PipelineEstimator, asked: Configuration): boolean {
  const { attainments } = estimator.estimate(asked);
  const used: Record<string, number> = {};
  asked.candidate.forEach((k, i) => {
    const device = problem.stages[i]?.candidates[k]?.device as string;
    used[device] = (used[device] ?? 0) + (asked.replicas[i] as number);
  });
  return (
    problem.objectives.every(({ attainment }, k) => (attainments[k] as number) >= attainment) &&
    Object.entries(problem.counts).every(([device, count]) => (used[device] ?? 0) <= count)
  );
}

/** unlimited has a replica for each request everywhere, on the fastest classes, with batches of one row. */
function unlimited({ stages }: PlanningProblem, requests: number): Configuration {
  const alone = stages.map(({ candidates }) => candidates.map(({ latencyNs }) => latencyNs[0] as number));
  return {
    candidate: Int32Array.from(alone, (times) => times.indexOf(Math.min(...times))),
    batch: Int32Array.from(stages, () => 1),
    replicas: Int32Array.from(stages, () => requests),
  };
}

describe('initialize', () => {
  it('finds a feasible configuration exactly where one exists', () => {
    const found = { feasible: 0, infeasible: 0 };
    for (let seed = 0; seed < CASES; seed++) {
      const { problem, sample } = randomProblem(seed, { mostStages: 4, requests: 100 });
      const estimator = plainEstimator(problem, sample);
      const [initial] = initialize(new Trials({ problem, samples: [sample], estimatorOf: plainEstimator }));
      expect(initial !== undefined, `seed ${seed}`).toBe(
        isFeasible(problem, estimator, unlimited(problem, 100)),
      );
      if (initial !== undefined) expect(isFeasible(problem, estimator, initial), `seed ${seed}`).toBe(true);
      found[initial === undefined ? 'infeasible' : 'feasible']++;
    }
    expect(Math.min(found.feasible, found.infeasible)).toBeGreaterThan(CASES / 20);
  });
});

describeInWholeRun('minimize', () => {
  it('ends where no single action lowers the cost', () => {
    let [tried, anomalies] = [0, 0];
    for (let seed = 0; seed < CASES; seed++) {
      const { problem, sample } = randomProblem(seed, {
        mostStages: 4,
        requests: 100,
        limits: seed % 2 === 1,
      });
      const trials = new Trials({ problem, samples: [sample], estimatorOf: plainEstimator });
      const [initial] = initialize(trials);
      if (initial === undefined) continue;
      const { configuration, trail } = minimize(trials, initial);
      const estimator = plainEstimator(problem, sample);
      const cost = trials.hourlyCost(configuration);
      expect(isFeasible(problem, estimator, configuration), `seed ${seed}`).toBe(true);
      expect(cost).toBeLessThanOrEqual(trials.hourlyCost(initial));
      expect(
        trail.every((step, k) => k === 0 || step.hourlyCost <= (trail[k - 1]?.hourlyCost as number) + 1e-9),
      ).toBe(true);
      problem.stages.forEach((choices, stage) => {
        choices.candidates.forEach(({ batches, hourlyCost }, candidate) => {
          for (const batch of batches) {
            const from = optionOf(configuration, stage);
            const own = (choices.candidates[from.candidate]?.hourlyCost as number) * from.replicas;
            const counts =
              choices.replicas === undefined
                ? Array.from({ length: 40 }, (_, k) => k + 1)
                : [choices.replicas];
            for (const replicas of counts.filter((k) => isCheaper(k * hourlyCost, own))) {
              tried++;
              const changed = withOption(configuration, stage, { candidate, batch, replicas });
              if (!isFeasible(problem, estimator, changed)) continue;
              const most = Math.max(
                ...counts.filter(
                  (k) =>
                    isCheaper(k * hourlyCost, own) &&
                    k <= trials.free(configuration, stage, choices.candidates[candidate]?.device as string),
                ),
              );
              // Fewer replicas may meet what more of them miss: only then was the action not seen.
              const more = withOption(changed, stage, { candidate, batch, replicas: most });
              expect(isFeasible(problem, estimator, more), `seed ${seed} stage ${stage}`).toBe(false);
              anomalies++;
            }
          }
        });
      });
    }
    expect(tried).toBeGreaterThan(CASES);
    expect(anomalies).toBeLessThan(tried / 1000);
  });
});
