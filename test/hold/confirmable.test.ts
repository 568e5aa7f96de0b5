import { describe, expect, it } from 'vitest';
import { randomProblem, type Shape, stream } from '../../bench/refute/pooled/random-problem.js';
import { confirmableShares } from '../../src/hold/confirmable.js';
import { heldRun, PROMISE_REQUESTS, PROMISE_SEEDS } from '../../src/hold/index.js';
import type { PooledProblem } from '../../src/milp/index.js';

const SHAPE: Shape = { classes: 2, blocks: 3, batches: 2, virtual: [1], models: 2, mostGpus: 8 };

/** The share below which the chance of so many requests in time out of so many is at least a fortieth. */
const faultless = (requests: number) => Math.exp(Math.log(0.025) / requests);

const within = (problem: PooledProblem, models: PooledProblem['models']) => ({ ...problem, models });

describe('confirmableShares()', () => {
  it('is never below what the runs of a plan with no late request show', () => {
    const next = stream(1);
    for (let seed = 1; seed <= 50; seed++) {
      const asked = randomProblem(seed, SHAPE, { objective: 'cost' });
      const models = asked.models.map((model) => ({
        ...model,
        rps: 10 ** (4 * next()),
        sloUs: 10 ** (3 + 3 * next()),
      }));
      const problem = within(asked, models);
      const shares = confirmableShares(problem, 1);
      for (const more of [1, 1.5]) {
        const planned = models.map(({ rps, sloUs }) => ({ throughputRps: more * rps, sloMs: sloUs / 1000 }));
        const { durationNs } = heldRun(planned, PROMISE_REQUESTS);
        models.forEach(({ rps }, m) => {
          const counted = (PROMISE_SEEDS.length * rps * durationNs) / 1e9;
          expect(shares[m]).toBeGreaterThanOrEqual(faultless(counted));
        });
      }
    }
  });

  it('follows from the bound where there is one model, and from the most requests of a run where there are several', () => {
    const problem = randomProblem(3, { ...SHAPE, models: 1 });
    const models = problem.models.map((model) => ({ ...model, weight: 2, sloUs: 1e4 }));
    // 60 SLOs have 600 requests at 1,000/s, so that a run lasts until 20,000 have arrived; a tenth more may arrive.
    expect(confirmableShares(within(problem, models), 500)).toEqual([
      expect.closeTo(faultless(8 * 22_000), 12),
    ]);
    const long = models.map((model) => ({ ...model, sloUs: 2e6 }));
    expect(confirmableShares(within(problem, long), 500)[0]).toBeCloseTo(faultless(8 * 132_000), 12);
    const priced = models.map((model) => ({ ...model, rps: 2000, sloUs: 2e6 }));
    const asked = within(problem, priced);
    const cost = { ...asked, planner: { ...asked.planner, objective: 'cost' as const } };
    // Sixty SLOs of two seconds have 240,000 requests, whatever they cost.
    for (const most of [1, 500])
      expect(confirmableShares(cost, most)[0]).toBeCloseTo(faultless(8 * 264_000), 12);
    const two = randomProblem(3, SHAPE);
    for (const share of confirmableShares(two, 1)) expect(share).toBeCloseTo(faultless(8 * 440_000), 12);
  });
});
