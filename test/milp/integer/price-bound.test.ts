import { beforeAll, describe, expect, test } from 'vitest';
import { randomProblem, type Shape } from '../../../bench/refute/pooled/random-problem.js';
import { type HighsEngine, loadHighs } from '../../../src/lp/index.js';
import { LinearModel, type Term } from '../../../src/lp/linear-model.js';
import type { ListedColumns } from '../../../src/milp/columns/column-source.js';
import { planPooled } from '../../../src/milp/index.js';
import { wholeGpuBound } from '../../../src/milp/integer/price-bound.js';
import { closerByMilp, searchPlan } from '../../../src/milp/integer/search.js';
import type { IntegerSearch } from '../../../src/milp/integer/search-types.js';
import { gpusByClass } from '../../../src/milp/master/master.js';
import { cases } from '../../cases.js';
import { problemByHand } from '../by-hand.js';
import { searchFor, TWO_CLASSES } from './search-by-hand.js';

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

function priced(rps: number, counts = [4, 4]): IntegerSearch {
  const devices = {
    A: { count: counts[0] as number, hourlyCost: 3 },
    B: { count: counts[1] as number, hourlyCost: 2 },
  };
  const problem = problemByHand(devices, [{ ...TWO_CLASSES, rps }], { objective: 'cost', maxPartitions: 1 });
  return searchFor(problem, highs);
}

describe('wholeGpuBound()', () => {
  test('is the price of the cheapest whole GPUs that could meet the rates, by hand', () => {
    const search = priced(100);
    expect(search.master.bound).toBeCloseTo(0.3, 9);
    const { bound, columns } = wholeGpuBound(search, 7);
    expect(bound).toBe(2);
    expect(columns.map(({ parts }) => parts[0]?.rps)).toEqual([expect.closeTo(400, 9)]);
    // Nothing lies between nothing and a plan for 2.
    expect(wholeGpuBound(search, 2)).toEqual({ bound: 2, columns: [] });
    // One of each serves 1400 for 5, and two of A 2000 for 6.
    expect(wholeGpuBound(priced(1400), 100).bound).toBe(5);
    expect(wholeGpuBound(priced(1401), 100).bound).toBe(6);
    expect(wholeGpuBound(priced(1401), 6).bound).toBe(6);
  });

  test('is the price of the next cluster where it is stopped, and that of the LP where clusters are too many', () => {
    const search = priced(1401);
    expect(search.master.bound).toBeCloseTo(4.203, 9);
    // Half of A is worth as much, so the next cluster is one of each, or two of B and nothing of A for 4.
    expect(wholeGpuBound({ ...search, stop: () => true }, 100)).toEqual({ bound: 5, columns: [] });
    const large = priced(1401, [40_000, 0]);
    expect(wholeGpuBound(large, 1e6)).toEqual({ bound: large.master.bound, columns: [] });
    expect(wholeGpuBound(large, 6e4).bound).toBe(6);
  });

  /** The part of the rates that some whole GPUs serve at most, by the LP over all columns. */
  function reach({ tables, sources }: IntegerSearch, gpus: readonly number[]): number {
    const all = sources.flatMap((source) => {
      const { set } = source as ListedColumns;
      return Array.from({ length: set.count }, (_, c) => set.column(c));
    });
    const model = new LinearModel();
    const part = model.addVariable('part', { upper: 1 });
    const rates = model.addVariables(all.map((_, c) => `x${c}`));
    const taken = all.map((one) => gpusByClass(one, tables[one.model]!, gpus.length));
    gpus.forEach((n, k) => {
      const terms = rates.map((x, c): Term => [x, taken[c]![k]!]);
      model.addConstraint(`GPUs ${k}`, terms, { upper: n });
    });
    tables.forEach(({ rps = 0 }, m) => {
      const terms = rates.flatMap((x, c): Term[] => (all[c]!.model === m ? [[x, 1]] : []));
      model.addConstraint(`rate ${m}`, [...terms, [part, -rps]], { lower: 0 });
    });
    model.addObjective('maximize', [[part, 1]]);
    const outcome = highs.solve(model);
    if (outcome.status !== 'optimal') throw new Error(outcome.status);
    return outcome.objective;
  }

  test('is the least price of all clusters whose LP meets the rates', () => {
    const shape: Shape = { classes: 2, blocks: 2, batches: 2, virtual: [1], models: 2, mostGpus: 4 };
    let above = 0;
    for (let seed = 1; seed <= cases(4, 40); seed++) {
      const random = randomProblem(seed, shape, { objective: 'cost', maxPartitions: 2 });
      const models = random.models.map((model) => ({ ...model, rps: model.rps! * (1 + (seed % 4)) }));
      const search = searchFor({ ...random, models }, highs);
      const [a, b] = search.classes.available as [number, number];
      const clusters = Array.from({ length: (a + 1) * (b + 1) }, (_, i) => [
        i % (a + 1),
        Math.floor(i / (a + 1)),
      ]);
      const prices = clusters.flatMap((gpus) =>
        reach(search, gpus) >= 1 - 1e-9
          ? [gpus.reduce((sum, n, k) => sum + n * search.classes.unitCost[k]!, 0)]
          : [],
      );
      if (prices.length === 0) continue;
      const least = Math.min(...prices);
      const { bound } = wholeGpuBound(search, 1000);
      expect({ seed, ratio: bound / least }).toEqual({ seed, ratio: expect.closeTo(1, 9) });
      if (bound > search.master.bound * 1.001) above++;
    }
    expect(above).toBeGreaterThan(cases(1, 20));
  });
});

describe('closerByMilp()', () => {
  test('starts from a plan that costs too much, and ends with no bound above the least price of the literal MILP', () => {
    const shape: Shape = { classes: 2, blocks: 2, batches: 2, virtual: [1, 2], models: 1, mostGpus: 3 };
    let compared = 0;
    for (let seed = 1; seed <= cases(8, 40); seed++) {
      const wholeGpusPer = seed % 2 === 0 ? 'position' : 'class';
      const problem = randomProblem(seed, shape, { objective: 'cost', maxPartitions: 2, wholeGpusPer });
      const literal = planPooled(problem, { highs, gap: 0, work: 1e6, formulation: 'literal', copies: 2 });
      const search = searchFor(problem, highs);
      const known = searchPlan(search);
      if (!('plan' in literal) || known.status !== 'found') continue;
      const dear = { used: known.used, value: 2 * known.value, nodes: 0 };
      const result = closerByMilp(search, dear, { proven: search.master.bound, gap: 0 });
      if (result.status !== 'found') throw new Error(`seed ${seed}: ${result.status}`);
      const best = literal.plan.objective.value;
      expect({ seed, isBelow: result.bound <= best * (1 + 1e-6) }).toEqual({ seed, isBelow: true });
      compared++;
    }
    expect(compared).toBeGreaterThan(2);
  });
});
