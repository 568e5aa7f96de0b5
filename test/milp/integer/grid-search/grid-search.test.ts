import { beforeAll, describe, expect, test } from 'vitest';
import { BruteForce } from '../../../../bench/refute/pooled/brute-force.js';
import { randomProblem, type Shape } from '../../../../bench/refute/pooled/random-problem.js';
import { type HighsEngine, loadHighs } from '../../../../src/lp/index.js';
import type { PooledProblem } from '../../../../src/milp/index.js';
import { meetsRates } from '../../../../src/milp/integer/candidates.js';
import { bulkPlan } from '../../../../src/milp/integer/grid-search/bulk.js';
import { gridColumns } from '../../../../src/milp/integer/grid-search/grid-columns.js';
import { gridPlan, isAdditive, sharedUnit } from '../../../../src/milp/integer/grid-search/grid-search.js';
import type { FillRule } from '../../../../src/milp/integer/grid-search/model-rates.js';
import { priceOf } from '../../../../src/milp/integer/rounded/rounded.js';
import type { IntegerSearch } from '../../../../src/milp/integer/search-types.js';
import { columnKey } from '../../../../src/milp/master/master.js';
import { type UsedColumn, usedRps } from '../../../../src/milp/plan/plan-model.js';
import { cases } from '../../../cases.js';
import { problemByHand } from '../../by-hand.js';
import { searchFor } from '../search-by-hand.js';

const SHAPE: Shape = { classes: 2, blocks: 2, batches: 2, virtual: [1, 2], models: 1, mostGpus: 2 };

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

const RULES: readonly [wholeGpusPer: 'pool' | 'class', rule: FillRule][] = [
  ['pool', { pool: true, shared: false }],
  ['class', { pool: false, shared: true }],
];

/** GPUs by class that columns take, parts of them counted as parts. */
function gpusOf({ tables, classes }: IntegerSearch, used: readonly UsedColumn[]): number[] {
  const gpus = classes.names.map(() => 0);
  for (const { column, virtualGpus } of used)
    column.parts.forEach(({ slot }, d) => {
      const { classIndex, virtual } = tables[column.model]!.slots[slot]!;
      gpus[classIndex] = gpus[classIndex]! + virtualGpus[d]! / virtual;
    });
  return gpus;
}

function leastServed({ tables }: IntegerSearch, used: readonly UsedColumn[]): number {
  const served = tables.map((_, m) =>
    used.filter(({ column }) => column.model === m).reduce((sum, one) => sum + usedRps(one), 0),
  );
  return Math.min(...tables.map(({ weight }, m) => served[m]! / weight));
}

/** keepsShares adds up what runs through each class, pipeline by pipeline. */
function keepsShares({ tables }: IntegerSearch, used: readonly UsedColumn[]): boolean {
  return tables.every((table, m) => {
    const own = used.filter(({ column }) => column.model === m);
    const through = (k?: number) =>
      own
        .filter(
          ({ column }) => k === undefined || column.parts.some((p) => table.slots[p.slot]!.classIndex === k),
        )
        .reduce((sum, one) => sum + usedRps(one), 0);
    return table.minShare.every((share, k) => through(k) >= share * through() - 1e-9);
  });
}

describe('gridPlan()', () => {
  for (const [wholeGpusPer, rule] of RULES)
    test(`finds the most that is served, and the least price, with whole GPUs per ${wholeGpusPer}`, () => {
      for (let seed = 1; seed <= cases(2, 30); seed++)
        for (const objective of ['throughput', 'cost'] as const) {
          const shape = { ...SHAPE, models: 1 + (seed % 2) };
          const problem = randomProblem(seed, shape, { maxPartitions: 2, wholeGpusPer, objective });
          const best = new BruteForce(problem).best(objective);
          const search = searchFor(problem, highs);
          const { sets, complete } = gridColumns(search);
          expect(complete).toBe(true);
          const name = { seed, objective };
          const all = gridPlan(search, sets, { rule })!;
          if (best === undefined) {
            expect({ ...name, value: all.value, used: all.used }).toEqual({
              ...name,
              value: objective === 'throughput' ? expect.any(Number) : Infinity,
              used: [],
            });
            continue;
          }
          const isPrice = objective === 'cost';
          for (const known of [undefined, isPrice ? best * 1.2 : best * 0.8]) {
            const plan = gridPlan(search, sets, { rule, ...(known === undefined ? {} : { known }) })!;
            expect({ ...name, known, ratio: plan.value / best }).toEqual({
              ...name,
              known,
              ratio: expect.closeTo(1, 9),
            });
            gpusOf(search, plan.used).forEach((n, k) => {
              expect(n).toBeLessThanOrEqual(search.classes.available[k]! + 1e-9);
            });
            if (isPrice) expect(meetsRates(search, plan.used)).toBe(true);
            else expect(leastServed(search, plan.used) / best).toBeCloseTo(1, 9);
            const keys = plan.used.map(({ column }) => columnKey(column));
            expect(new Set(keys).size).toBe(keys.length);
          }
          // A plan that is better than the best one is not there to be found.
          const none = gridPlan(search, sets, { rule, known: isPrice ? best * 0.99 : best * 1.01 })!;
          expect({ ...name, none: none.used }).toEqual({ ...name, none: [] });
        }
    });

  test('uses no more GPUs than it is told to look at, and is nothing where they are too many', () => {
    const model = { name: 'm', sloMs: 9, latencyUs: { A: { 1: { 1: [1000] }, 2: { 1: [1500] } } } };
    const problem = problemByHand({ A: { count: 5, virtual: [1, 2] } }, [model], { maxPartitions: 1 });
    const search = searchFor(problem, highs);
    const { sets } = gridColumns(search);
    const rule = { pool: true, shared: false };
    // A GPU of two halves serves 1333 requests per second.
    expect(gridPlan(search, sets, { rule })?.value).toBeCloseTo((5 * 4000) / 3, 6);
    expect(gridPlan(search, sets, { rule, available: [3] })?.value).toBeCloseTo(4000, 6);
    const halves = { pool: false, shared: true };
    expect(gridPlan(search, sets, { rule: halves, available: [2.5] })?.value).toBeCloseTo((5 * 2000) / 3, 6);
    expect(gridPlan(search, sets, { rule, available: [2_000_000] })).toBeUndefined();
    expect(gridPlan(search, sets, { rule: halves, available: [1_000_000] })).toBeUndefined();
    expect(sharedUnit(search)).toBe(2);
  });

  for (const [wholeGpusPer, rule] of RULES)
    test(`keeps minimum shares, as a brute force does, with whole GPUs per ${wholeGpusPer}`, () => {
      let lower = 0;
      for (let seed = 1; seed <= cases(5, 60); seed++)
        for (const objective of ['throughput', 'cost'] as const) {
          const shape = { ...SHAPE, models: 1 + (seed % 2) };
          const random = randomProblem(seed, shape, { maxPartitions: 2, wholeGpusPer, objective });
          const minShare = { [`C${seed % 2}`]: [0.2, 0.5, 0.8, 1][seed % 4] as number };
          // Every second problem has a model that may use anything.
          const models = random.models.map((one, m) =>
            m > 0 && seed % 4 === 1 ? one : { ...one, minShare },
          );
          const problem = { ...random, models };
          const best = new BruteForce(problem).best(objective);
          const search = searchFor(problem, highs);
          const { sets } = gridColumns(search);
          const plan = gridPlan(search, sets, { rule });
          if (best === undefined) {
            expect([0, Infinity, -Infinity]).toContain(plan?.value);
            continue;
          }
          expect({ seed, value: plan?.value }).toEqual({ seed, value: expect.closeTo(best, 6) });
          if (new BruteForce(random).best(objective)! !== best) lower++;
          if (objective === 'throughput') {
            expect(leastServed(search, plan!.used)).toBeCloseTo(best, 6);
            gpusOf(search, plan!.used).forEach((gpus, k) => {
              expect(gpus).toBeLessThanOrEqual(search.classes.available[k]! + 1e-9);
            });
          }
          expect({ seed, kept: keepsShares(search, plan!.used) }).toEqual({ seed, kept: true });
        }
      expect(lower).toBeGreaterThan(2);
    });

  test('is nothing where it was stopped', () => {
    const search = searchFor(randomProblem(2, { ...SHAPE, mostGpus: 300 }), highs);
    const { sets } = gridColumns(search);
    const rule = { pool: true, shared: false };
    expect(gridPlan({ ...search, stop: () => true }, sets, { rule, known: 0 })).toBeUndefined();
  });
});

describe('isAdditive()', () => {
  test('says that sizes per server and minimum shares bind many pools at once', () => {
    const of = (problem: PooledProblem) => isAdditive(searchFor(problem, highs));
    expect(of(randomProblem(1, SHAPE))).toBe(true);
    expect(of(randomProblem(1, SHAPE, { virtualPer: 'server' }))).toBe(false);
    const random = randomProblem(1, { ...SHAPE, models: 2 });
    const models = random.models.map((one, m) => (m === 0 ? one : { ...one, minShare: { C1: 0.1 } }));
    expect(of({ ...random, models })).toBe(false);
  });
});

describe('bulkPlan()', () => {
  const shape: Shape = { ...SHAPE, mostGpus: 20 };
  const large = (seed: number, objective: 'throughput' | 'cost', factor = 1) => {
    const models = 1 + (seed % 2);
    const some = randomProblem(seed, { ...shape, models }, { objective, maxPartitions: 2 });
    const devices = Object.fromEntries(
      Object.entries(some.cluster.devices).map(([name, device], k) => [
        name,
        { ...device, count: 1000 + 500 * k },
      ]),
    );
    return {
      ...some,
      models: some.models.map((model) => ({ ...model, rps: model.rps! * factor })),
      cluster: { ...some.cluster, devices },
    };
  };

  test('serves nearly what the LP bounds on a large cluster, with no more GPUs than there are', () => {
    for (let seed = 1; seed <= cases(2, 20); seed++) {
      const search = searchFor(large(seed, 'throughput'), highs);
      const plan = bulkPlan(search)!;
      const value = leastServed(search, plan.used);
      // The plan's value may leave out what the rest of the GPUs adds to a model by the way.
      expect({ seed, atMost: plan.value <= value * (1 + 1e-9) }).toEqual({ seed, atMost: true });
      expect({ seed, stated: plan.value / value }).toEqual({ seed, stated: expect.closeTo(1, 3) });
      expect({ seed, near: value > 0.99 * search.master.bound }).toEqual({ seed, near: true });
      expect(value).toBeLessThanOrEqual(search.master.bound * (1 + 1e-9));
      gpusOf(search, plan.used).forEach((n, k) => {
        expect(n).toBeLessThanOrEqual(search.classes.available[k]! + 1e-9);
      });
    }
  });

  test('meets large rates for nearly what the LP bounds, and states its price', () => {
    for (let seed = 1; seed <= cases(2, 20); seed++) {
      const search = searchFor(large(seed, 'cost', 1000), highs);
      if (!Number.isFinite(search.master.bound)) continue;
      const plan = bulkPlan(search)!;
      expect(plan.value).toBe(priceOf(search, plan.used));
      expect({ seed, meets: meetsRates(search, plan.used) }).toEqual({ seed, meets: true });
      expect(plan.value).toBeGreaterThanOrEqual(search.master.bound * (1 - 1e-9));
      expect(plan.value / search.master.bound, `seed ${seed}`).toBeLessThan(1.03);
    }
  });
});
