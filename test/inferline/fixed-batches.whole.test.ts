import { describe, expect, it } from 'vitest';
import { estimatorOf } from '../../src/inferline/estimator.js';
import { planPipeline } from '../../src/inferline/planner.js';
import type { PlanningProblem, StageChoices } from '../../src/inferline/problem.js';
import { readStageGraph } from '../../src/plans/index.js';
import { streamOf } from '../../src/random/index.js';
import { cases } from '../cases.js';
import { plainEstimator } from './plain-estimator.js';

const CASES = cases(400, 20_000);
/** About one case in a thousand has a plan with few replicas alone; this one soon comes to one. */
const FIRST = 1000;
const REQUESTS = 12;

/** steppedStage has one class and one batch, and takes much longer from some number of rows on. */
function steppedStage(
  batch: number,
  { ns, from, moreNs }: { ns: number; from: number; moreNs: number },
): StageChoices {
  const latencyNs = Float64Array.from({ length: batch }, (_, n) => (n + 1 < from ? ns : ns + moreNs));
  return { candidates: [{ device: 'c', batches: [batch], latencyNs, hourlyCost: 1 }] };
}

function steppedProblem(seed: number): { problem: PlanningProblem; atNs: Float64Array } {
  const stream = streamOf(seed, 'problem');
  const { graph } = readStageGraph({ stages: [{ name: 's0', next: ['s1'] }, { name: 's1' }] });
  const [first, second] = [2 + stream.integer(4), 4 + stream.integer(5)];
  const [firstNs, secondNs] = [20 + stream.integer(40), 2 + stream.integer(8)];
  const stages = [
    steppedStage(first, { ns: firstNs, from: 2 + stream.integer(first), moreNs: stream.integer(10) }),
    steppedStage(second, { ns: secondNs, from: 2 + stream.integer(3), moreNs: 30 + stream.integer(40) }),
  ];
  const sloNs = firstNs + secondNs + stream.integer(40);
  const attainment = (1 + stream.integer(REQUESTS)) / REQUESTS;
  const mostGapNs = 1 + stream.integer(12);
  let at = 0;
  const atNs = Float64Array.from({ length: REQUESTS }, () => (at += stream.integer(mostGapNs)));
  return { problem: { graph, stages, objectives: [{ attainment, sloNs }], counts: {} }, atNs };
}

describe('planPipeline of stages with one batch each', () => {
  it('calls infeasible only what no numbers of replicas meet, though fewer of them may make smaller batches', () => {
    const seen = { feasible: 0, infeasible: 0, fewerOnly: 0 };
    for (let seed = FIRST; seed < FIRST + CASES; seed++) {
      const { problem, atNs } = steppedProblem(seed);
      const sample = { atNs, verdicts: [undefined, undefined] };
      const plain = plainEstimator(problem, sample);
      const batch = Int32Array.from(problem.stages, ({ candidates }) => candidates[0]?.batches[0] as number);
      const met = (first: number, second: number): boolean => {
        const replicas = Int32Array.of(first, second);
        const { attainments } = plain.estimate({ candidate: new Int32Array(2), batch, replicas });
        return (attainments[0] as number) >= (problem.objectives[0]?.attainment as number);
      };
      const all = Array.from({ length: REQUESTS }, (_, k) => k + 1);
      const isFeasible = all.some((first) => all.some((second) => met(first, second)));
      if (isFeasible && !all.some((first) => met(first, REQUESTS))) seen.fewerOnly++;
      const outcome = planPipeline({ problem, samples: [sample], estimatorOf }, 'exact');
      expect(outcome.status, `seed ${seed}`).toBe(isFeasible ? 'feasible' : 'infeasible');
      seen[isFeasible ? 'feasible' : 'infeasible']++;
    }
    expect(Math.min(seen.feasible, seen.infeasible), JSON.stringify(seen)).toBeGreaterThan(CASES / 10);
    expect(seen.fewerOnly, JSON.stringify(seen)).toBeGreaterThan(0);
  });
});
