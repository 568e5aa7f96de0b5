import { describe, expect, it } from 'vitest';
import { estimatorOf } from '../../src/inferline/estimator.js';
import { planPipeline } from '../../src/inferline/planner.js';
import type { PlanningProblem } from '../../src/inferline/problem.js';
import type { PlannerInput } from '../../src/inferline/trials.js';
import { cases, fewOf } from '../cases.js';
import { randomProblem } from './random-problem.js';

const CASES = cases(60, 2000);
const WORK = 3000;

function withSlos(problem: PlanningProblem, sloNs: readonly number[]): PlanningProblem {
  const objectives = problem.objectives.map((one, k) => ({ ...one, sloNs: sloNs[k] as number }));
  return { ...problem, objectives };
}

/** scaled makes a problem a million times slower, so that its SLOs are milliseconds with more digits than are told. */
function scaled({ stages, objectives, transferNs, ...rest }: PlanningProblem): PlanningProblem {
  const SCALE = 1_000_003;
  return {
    ...rest,
    ...(transferNs && { transferNs: (move) => SCALE * transferNs(move) }),
    objectives: objectives.map((one) => ({ ...one, sloNs: SCALE * one.sloNs })),
    stages: stages.map(({ candidates, ...more }) => ({
      ...more,
      candidates: candidates.map((one) => ({ ...one, latencyNs: one.latencyNs.map((ns) => SCALE * ns) })),
    })),
  };
}

describe('the SLO that is told where there is no plan', () => {
  it.each(fewOf(['exact', 'inferline'] as const, 1))(
    'is met by %s at the cost that is reported, has four digits, and one that is shorter by a fiftieth is missed',
    (method) => {
      const seen = { told: 0, untold: 0 };
      for (let seed = 0; seed < CASES; seed++) {
        const drawn = randomProblem(seed, {
          mostStages: 3,
          requests: 40,
          limits: true,
          draws: 1 + (seed % 2),
        });
        const { transferNs: _, ...problem } = scaled(drawn.problem);
        const samples = drawn.samples.map(({ atNs, verdicts }) => ({
          atNs: atNs.map((at) => 1_000_003 * at),
          verdicts,
        }));
        const input: PlannerInput = { problem, samples, estimatorOf, mostEstimates: WORK };
        const outcome = planPipeline(input, method);
        if (outcome.status !== 'infeasible') continue;
        const { least } = outcome;
        seen[least === undefined ? 'untold' : 'told']++;
        if (least === undefined) continue;
        for (const ns of least.sloNs) expect(Number(ns.toPrecision(4)), `seed ${seed}`).toBe(ns);
        const met = planPipeline({ ...input, problem: withSlos(problem, least.sloNs) }, method);
        expect(met, `seed ${seed}`).toMatchObject({ status: 'feasible', hourlyCost: least.hourlyCost });
        const shorter = least.sloNs.map((ns) => Math.floor(0.98 * ns));
        const missed = planPipeline({ ...input, problem: withSlos(problem, shorter) }, method);
        expect(missed.status, `seed ${seed}`).not.toBe('feasible');
      }
      expect(seen.told, JSON.stringify(seen)).toBeGreaterThan(CASES / 20);
    },
  );
});
