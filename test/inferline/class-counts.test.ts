import { describe, expect, it } from 'vitest';
import { ClassCounts, fixedFit } from '../../src/inferline/class-counts.js';
import { estimatorOf } from '../../src/inferline/estimator.js';
import { planPipeline } from '../../src/inferline/planner.js';
import type { PlanningProblem, Sample } from '../../src/inferline/problem.js';
import { Trials } from '../../src/inferline/trials.js';
import { readStageGraph } from '../../src/plans/index.js';
import { streamOf } from '../../src/random/index.js';
import { cases, inWholeRun } from '../cases.js';

const CASES = cases(300, 3000);
const CLASSES = ['a', 'b', 'c'];

/** chainOf makes a chain of stages with fixed replicas, each of which runs on some classes, the later the slower. */
function chainOf(
  stages: readonly { replicas?: number; classes?: readonly string[] }[],
  counts: Record<string, number>,
): { problem: PlanningProblem; sample: Sample } {
  const { graph } = readStageGraph({
    stages: stages.map((_, i) => ({
      name: `s${i}`,
      ...(i + 1 < stages.length ? { next: [`s${i + 1}`] } : {}),
    })),
  });
  const problem: PlanningProblem = {
    graph,
    stages: stages.map(({ replicas, classes = CLASSES }) => ({
      candidates: classes.map((device) => {
        const k = CLASSES.indexOf(device);
        const latencyNs = Float64Array.of(2e6 * (k + 1), 3e6 * (k + 1));
        return { device, batches: [1, 2], latencyNs, hourlyCost: CLASSES.length - k };
      }),
      ...(replicas === undefined ? {} : { replicas }),
    })),
    objectives: [{ attainment: 0.99, sloNs: 400e6 }],
    counts,
  };
  const atNs = Float64Array.from({ length: 100 }, (_, i) => i * 20e6);
  return { problem, sample: { atNs, verdicts: stages.map(() => undefined) } };
}

/** usedOf adds up the devices of an outcome by class. */
function usedOf(problem: PlanningProblem, outcome: ReturnType<typeof planPipeline>): Record<string, number> {
  if (outcome.status !== 'feasible') return {};
  const used: Record<string, number> = {};
  problem.stages.forEach(({ candidates }, i) => {
    const { device } = candidates[outcome.configuration.candidate[i] as number] as { device: string };
    used[device] = (used[device] ?? 0) + (outcome.configuration.replicas[i] as number);
  });
  return used;
}

describe('replicas that are fixed', () => {
  it.each(['inferline', 'exact'] as const)('%s counts them against their class', (method) => {
    const { problem, sample } = chainOf([{ replicas: 2 }, { replicas: 2 }], { a: 3 });
    const outcome = planPipeline({ problem, samples: [sample], estimatorOf }, method);
    expect(outcome.status).toBe('feasible');
    expect(usedOf(problem, outcome).a ?? 0).toBeLessThanOrEqual(3);
    // Two stages of two fit into one class of these only where it has four.
    const roomy = chainOf([{ replicas: 2 }, { replicas: 2 }], { a: 4, b: 0, c: 0 });
    const fits = planPipeline({ ...roomy, samples: [roomy.sample], estimatorOf }, method);
    expect(usedOf(roomy.problem, fits)).toEqual({ a: 4 });
  });

  it.each(['inferline', 'exact'] as const)(
    '%s proves at once that those of 12 stages do not fit',
    (method) => {
      const stages = Array.from({ length: 12 }, () => ({ replicas: 2 }));
      const { problem, sample } = chainOf(stages, { a: 2, b: 2, c: 2 });
      const outcome = planPipeline({ problem, samples: [sample], estimatorOf }, method);
      expect(outcome).toMatchObject({ status: 'infeasible', estimates: 0 });
      // No SLO would mend it.
      expect(outcome).not.toHaveProperty('least');
    },
  );

  inWholeRun(
    'are never counted twice or left out, and what does not fit is infeasible: every choice of classes is tried',
    () => {
      const seen = { fits: 0, not: 0 };
      for (let seed = 0; seed < CASES; seed++) {
        const stream = streamOf(seed, 'counts');
        const stages = Array.from({ length: 1 + stream.integer(4) }, () => ({
          ...(stream.uniform() < 0.8 ? { replicas: 1 + stream.integer(3) } : {}),
          classes: CLASSES.filter((_, k) => k === seed % 3 || stream.uniform() < 0.5),
        }));
        const limited = CLASSES.filter(() => stream.uniform() < 0.85);
        const counts = Object.fromEntries(limited.map((name) => [name, stream.integer(6)]));
        const { problem, sample } = chainOf(stages, counts);
        const fitsFrom = (i: number, left: Record<string, number>): boolean => {
          const stage = stages[i];
          if (stage === undefined) return true;
          return stage.classes.some((name) => {
            const { replicas = 1 } = stage;
            const count = left[name] ?? Number.POSITIVE_INFINITY;
            return count >= replicas && fitsFrom(i + 1, { ...left, [name]: count - replicas });
          });
        };
        const fits = fitsFrom(0, counts);
        seen[fits ? 'fits' : 'not']++;
        const input = { problem, samples: [sample], estimatorOf };
        expect(fixedFit(new Trials(input)), `seed ${seed}`).toBe(fits);
        for (const method of ['inferline', 'exact'] as const) {
          const outcome = planPipeline(input, method);
          expect(outcome.status, `seed ${seed}`).toBe(fits ? 'feasible' : 'infeasible');
          for (const [name, used] of Object.entries(usedOf(problem, outcome)))
            expect(used, `seed ${seed} ${name}`).toBeLessThanOrEqual(
              counts[name] ?? Number.POSITIVE_INFINITY,
            );
        }
      }
      expect(Math.min(seen.fits, seen.not), JSON.stringify(seen)).toBeGreaterThan(CASES / 10);
    },
  );

  it('take what is left where stages are set already', () => {
    const { problem, sample } = chainOf([{ replicas: 2 }, { replicas: 3 }], { a: 3, b: 2, c: 0 });
    const trials = new Trials({ problem, samples: [sample], estimatorOf });
    const counts = new ClassCounts(trials, [0, 1], (stage) => problem.stages[stage]?.replicas as number);
    expect(counts.fits(1, [3, 0, 0])).toBe(true);
    expect(counts.fits(1, [1, 2, 0])).toBe(false);
    expect(counts.fits(0, [3, 2, 0])).toBe(true);
  });
});
