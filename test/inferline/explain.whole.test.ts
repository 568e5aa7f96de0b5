import { describe, expect, it } from 'vitest';
import { explainPipeline } from '../../src/inferline/explain.js';
import { planPipeline } from '../../src/inferline/planner.js';
import { cases } from '../cases.js';
import { plainEstimator } from './plain-estimator.js';
import { randomProblem } from './random-problem.js';

const CASES = cases(60, 500);

describe('explainPipeline()', () => {
  it('names for each class an option that meets the objectives, dearer than the plan, and steps that end at the plan', () => {
    let [options, tooSlow] = [0, 0];
    for (let seed = 0; seed < CASES; seed++) {
      const { problem, sample } = randomProblem(seed, { mostStages: 3, requests: 60, keepsUp: true });
      const input = { problem, samples: [sample], estimatorOf: plainEstimator };
      const outcome = planPipeline(input, 'inferline');
      if (outcome.status !== 'feasible') continue;
      const { configuration, trail, hourlyCost } = outcome;
      const { path, stages } = explainPipeline(input, configuration, trail);
      if (path.length > 0) expect(path.at(-1)?.hourlyCost).toBeCloseTo(hourlyCost, 9);
      const estimator = plainEstimator(problem, sample);
      const attainments = (
        stage: number,
        [candidate, batch, replicas]: readonly [number, number, number],
      ) => {
        const asked = {
          candidate: configuration.candidate.with(stage, candidate),
          batch: configuration.batch.with(stage, batch),
          replicas: configuration.replicas.with(stage, replicas),
        };
        return estimator.estimate(asked).attainments;
      };
      stages.forEach(({ oneLess, oneLessRps, oneMore, classes }, stage) => {
        const [candidate, batch, replicas] = [
          configuration.candidate[stage] as number,
          configuration.batch[stage] as number,
          configuration.replicas[stage] as number,
        ];
        expect(oneMore).toEqual(attainments(stage, [candidate, batch, replicas + 1]));
        expect(oneLess).toEqual(
          replicas === 1 ? undefined : attainments(stage, [candidate, batch, replicas - 1]),
        );
        const { rps = 0, visits = [] } = problem.load ?? {};
        const ns = problem.stages[stage]?.candidates[candidate]?.latencyNs[batch - 1] as number;
        const servedRps = ((replicas - 1) * batch * 1e9) / ns / (visits[stage] ?? 1);
        if (replicas > 1 && rps > servedRps * (1 + 1e-9)) {
          expect(oneLessRps).toBeCloseTo(servedRps, 6);
          tooSlow++;
        } else expect(oneLessRps).toBeUndefined();
        classes.forEach(({ option, extraCost }, k) => {
          if (option === undefined) return;
          options++;
          const met = attainments(stage, [k, option.batch, option.replicas]);
          expect(problem.objectives.every(({ attainment }, i) => (met[i] as number) >= attainment)).toBe(
            true,
          );
          // No single action lowers the cost of the plan.
          expect(extraCost).toBeGreaterThanOrEqual(-1e-9);
        });
      });
    }
    expect(options).toBeGreaterThan(CASES);
    expect(tooSlow).toBeGreaterThan(0);
  });
});
