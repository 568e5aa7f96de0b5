import { beforeAll, describe, expect, test } from 'vitest';
import { BruteForce } from '../../../../bench/refute/pooled/brute-force.js';
import { randomProblem, type Shape } from '../../../../bench/refute/pooled/random-problem.js';
import { checkPlan } from '../../../../src/checks/index.js';
import { type HighsEngine, loadHighs } from '../../../../src/lp/index.js';
import { type ColumnSet, enumerateColumns } from '../../../../src/milp/columns/columns.js';
import type { PooledProblem } from '../../../../src/milp/index.js';
import { type Grid, gridOf, leastCommonMultiple } from '../../../../src/milp/integer/grid/grid.js';
import { ModelGrid } from '../../../../src/milp/integer/grid/model-grid.js';
import { searchPositions } from '../../../../src/milp/integer/positions/positions.js';
import { assemblePlan } from '../../../../src/milp/plan/plan.js';
import { usedRps } from '../../../../src/milp/plan/plan-model.js';
import { classesOf, modelTable } from '../../../../src/milp/tables/tables.js';
import { cases, inWholeRun } from '../../../cases.js';
import { searchFor } from '../search-by-hand.js';

const SHAPE: Shape = { classes: 2, blocks: 2, batches: 2, virtual: [1, 2], models: 1, mostGpus: 2 };

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/** A model whose positions fill whole GPUs, its table by parts of GPUs, and the most that it can be served with. */
function caseOf(seed: number, virtual: readonly number[] = SHAPE.virtual) {
  const random = randomProblem(seed, { ...SHAPE, virtual }, { maxPartitions: 2, wholeGpusPer: 'position' });
  const problem: PooledProblem = { ...random, models: random.models.map((one) => ({ ...one, weight: 1 })) };
  const table = modelTable(problem, 0);
  const set = enumerateColumns(table, problem.planner, { limit: 1e5 }) as ColumnSet;
  const { available } = classesOf(problem);
  const { master } = searchFor(problem, highs);
  const own = master.freeModelPrices[0] as number;
  const gpuPrices = master.gpuPrices.map((price) => price / own);
  const grid = gridOf(available, leastCommonMultiple(virtual), 1) as Grid;
  const relaxed = (budget: number) => new ModelGrid(grid, set, { pool: false, gpuPrices, budget });
  const worth = gpuPrices.reduce((sum, price, k) => sum + price * (available[k] as number), 0);
  return { problem, table, available, relaxed, worth };
}

const WITHOUT_END = { maxNodes: 1e6 };

describe('searchPositions()', () => {
  inWholeRun('finds the most that a model can be served with, and that nothing serves more', () => {
    let compared = 0;
    for (let seed = 1; seed <= cases(8, 60); seed++) {
      const { problem, table, available, relaxed, worth } = caseOf(seed);
      const best = new BruteForce(problem).best('throughput');
      if (best === undefined) continue;
      compared++;
      // The budget is all that is lost where no more than a part of the best is known.
      for (const known of [0, 0.9 * best]) {
        const found = searchPositions(relaxed(worth - known), available, { known, ...WITHOUT_END });
        expect({ seed, known, ratio: found.rps / best, exhausted: found.exhausted }).toEqual({
          seed,
          known,
          ratio: expect.closeTo(1, 9),
          exhausted: true,
        });
        const used = found.used ?? [];
        expect(used.reduce((sum, one) => sum + usedRps(one), 0)).toBeGreaterThanOrEqual(best * (1 - 1e-9));
        const objective = { kind: 'throughput', value: best, bound: best, gap: 0 } as const;
        const plan = assemblePlan(
          problem,
          { classes: classesOf(problem), tables: [table] },
          { used, status: 'optimal', objective, reproducible: true, shadowPrices: [] },
        );
        if (plan === undefined) throw new Error(`seed ${seed}: it cannot be placed`);
        const faults = checkPlan(plan, problem).filter(({ path }) => !path.startsWith('/objective/gap'));
        expect({ seed, faults }).toEqual({ seed, faults: [] });
      }
      for (const known of [best, best * 1.01]) {
        const none = searchPositions(relaxed(worth - known), available, { known, ...WITHOUT_END });
        expect({ seed, none }).toMatchObject({ seed, none: { used: undefined, rps: 0, exhausted: true } });
      }
    }
    expect(compared).toBeGreaterThan(cases(5, 40));
  });

  test('does not know whether more can be served once its work is done', () => {
    let ended = 0;
    for (let seed = 1; seed <= 8; seed++) {
      const { available, relaxed, worth } = caseOf(seed);
      const grid = relaxed(worth);
      const whole = searchPositions(grid, available, { known: 0, ...WITHOUT_END });
      const maxNodes = Math.floor(whole.nodes / 2);
      const part = searchPositions(grid, available, { known: 0, maxNodes });
      expect(part.nodes).toBeLessThanOrEqual(maxNodes + 1);
      expect(part.exhausted).toBe(whole.nodes <= maxNodes);
      expect(part.rps).toBeLessThanOrEqual(whole.rps);
      if (!part.exhausted) ended++;
    }
    expect(ended).toBeGreaterThan(4);
  });
});
