import { describe, expect, test } from 'vitest';
import { randomProblem, type Shape } from '../../../bench/refute/pooled/random-problem.js';
import { ListedColumns } from '../../../src/milp/columns/column-source.js';
import { type ColumnSet, columnSetOf, enumerateColumns } from '../../../src/milp/columns/columns.js';
import { LabelPricing } from '../../../src/milp/columns/label-pricing.js';
import { modelTable } from '../../../src/milp/tables/tables.js';
import { type ModelByHand, problemByHand } from '../by-hand.js';
import { manyColumns } from '../integer/search-by-hand.js';

const STOP_EVERY = 65_536;

/** Remembers the steps that it is told of, and says when to stop. */
function counting(isEnough: (steps: number) => boolean = () => false) {
  const seen = { asked: [] as number[], steps: 0 };
  const stop = (steps: number) => {
    seen.asked.push(steps);
    seen.steps += steps;
    return isEnough(steps);
  };
  return { seen, stop };
}

describe('enumerateColumns()', () => {
  test('asks whether to stop as soon as a given number of cuts were looked at', () => {
    // With 31 blocks every look is at 32 cuts, and 65,536 is a multiple of that.
    const row = Array.from({ length: 31 }, () => 1);
    const model: ModelByHand = { name: 'm', sloMs: 100, latencyUs: { A: { 1: { 1: row, 2: row } } } };
    const problem = problemByHand({ A: { count: 2 } }, [model], { maxPartitions: 4 });
    const { seen, stop } = counting(() => true);
    expect(enumerateColumns(modelTable(problem, 0), problem.planner, { limit: 1e6, stop })).toBeUndefined();
    expect(seen.asked).toEqual([STOP_EVERY]);
  });
});

describe('ColumnSet', () => {
  test('keeps what it holds when it grows', () => {
    const { problem, table } = manyColumns();
    const set = enumerateColumns(table, problem.planner, { limit: 1e5 }) as ColumnSet;
    expect(set.count).toBeGreaterThan(2048);
    const columns = Array.from({ length: set.count }, (_, c) => set.column(c));
    const again = columnSetOf(table, set.width, columns);
    const wrong = columns.flatMap((column, c) => {
      const { parts, latencyUs } = again.column(c);
      const same =
        latencyUs === column.latencyUs &&
        parts.length === column.parts.length &&
        parts.every((part, d) => {
          const other = column.parts[d]!;
          return (
            part.first === other.first &&
            part.end === other.end &&
            part.slot === other.slot &&
            part.batch === other.batch &&
            Math.abs(part.rps - other.rps) < 1e-9 * other.rps
          );
        });
      return same ? [] : [c];
    });
    expect(wrong).toEqual([]);
  });
});

describe('LabelPricing', () => {
  const SHAPE: Shape = { classes: 2, blocks: 60, batches: 1, virtual: [1, 2], models: 1, mostGpus: 4 };
  const PRICES = { perGpu: [1, 0.8], perUse: [0, 0] };

  function tableOf(seed: number, shape = SHAPE, maxPartitions = 3) {
    const problem = randomProblem(seed, shape, { maxPartitions });
    return { table: modelTable(problem, 0), planner: problem.planner };
  }

  /** The steps of a pricing, and what it found. */
  function stepsOf(seed: number, below: number, perUse = [0, 0]) {
    const { table, planner } = tableOf(seed);
    const { seen, stop } = counting();
    const price = new LabelPricing(table, planner, stop).cheapest({ ...PRICES, perUse }, below);
    return { steps: seen.steps, price };
  }

  test('keeps few labels: at every cut those of which no other is as good', () => {
    // There are 60 · 59 / 2 pairs of cuts for four slots; three partitions without a choice would have billions of labels.
    for (const seed of [1, 3]) {
      expect(stepsOf(seed, Infinity).steps).toBeLessThan(450_000);
      // Where classes refund a part of the price, labels that have used other classes are kept besides.
      expect(stepsOf(seed, Infinity, [1e-5, 1e-5]).steps).toBeLessThan(1.2e6);
    }
  });

  test('looks at far less once prices are known to be good', () => {
    for (const seed of [1, 3]) {
      const all = stepsOf(seed, Infinity);
      const few = stepsOf(seed, all.price * 1.0001);
      expect(few.price).toBeCloseTo(all.price, 12);
      expect(few.steps).toBeLessThan(all.steps / 20);
    }
  });

  test('stops inside a long cut, and then proves no more than every layer on its cheapest device', () => {
    const { table, planner } = tableOf(1, { ...SHAPE, blocks: 400, batches: 3, virtual: [1, 2, 3] });
    const free = { ...planner, unifiedBatch: false };
    const { seen, stop } = counting((steps) => steps >= STOP_EVERY);
    const prices = { perGpu: [1, 0.9], perUse: [0, 0] };
    const loose = { ...table, budgetUs: table.budgetUs.map((us) => 3 * us) };
    const price = new LabelPricing(loose, free, stop).cheapest(prices, Infinity);
    const whole = new LabelPricing(loose, { ...free, maxPartitions: 1 }).cheapest(prices, Infinity);
    expect(price).toBeGreaterThan(0);
    expect(price).toBeLessThanOrEqual(whole);
    expect(Math.max(...seen.asked)).toBeGreaterThanOrEqual(STOP_EVERY);
    // It asks no more, neither in this run nor for another batch size.
    expect(seen.asked.findIndex((steps) => steps >= STOP_EVERY)).toBe(seen.asked.length - 1);
  });

  test('leaves out sizes that were not measured at a batch size', () => {
    const latencyUs = {
      A: { 1: { 1: [100, 200], 2: [150, 300] } },
      B: { 1: { 1: [50, 100] } },
    };
    const problem = problemByHand(
      { A: { count: 1 }, B: { count: 1 } },
      [{ name: 'm', sloMs: 9, latencyUs }],
      { maxPartitions: 2 },
    );
    const table = modelTable(problem, 0);
    const listed = new ListedColumns(enumerateColumns(table, problem.planner, { limit: 100 }) as ColumnSet);
    const labels = new LabelPricing(table, problem.planner);
    for (const perGpu of [
      [1, 1],
      [1, 3],
      [3, 1],
    ]) {
      const prices = { perGpu, perUse: [0, 0] };
      expect(labels.cheapest(prices, Infinity)).toBeCloseTo(listed.cheapest(prices, Infinity), 12);
      for (const { column } of labels.cheapestOf(prices, 100))
        for (const { slot, batch } of column.parts) expect([slot, batch]).not.toEqual([1, 1]);
    }
  });

  test('gives the cheapest first, each below the price that is asked for', () => {
    const { table, planner } = tableOf(2, { ...SHAPE, blocks: 8 });
    const labels = new LabelPricing(table, planner);
    const all = labels.cheapestOf(PRICES, 1000).map(({ price }) => price);
    expect(all.length).toBeGreaterThan(3);
    expect(all).toEqual([...all].sort((a, b) => a - b));
    const below = all.find((price) => price > all[0]! * (1 + 1e-9))!;
    const some = labels.cheaperThan(below, PRICES, 1000).map(({ price }) => price);
    expect(some[0]).toBe(all[0]);
    for (const price of some) expect(price).toBeLessThan(below);
    expect(labels.cheaperThan(Infinity, PRICES, 2)).toHaveLength(2);
    expect(labels.cheaperThan(all[0]!, PRICES, 1000)).toEqual([]);
    expect(labels.cheapest(PRICES, all[0]! / 2)).toBe(all[0]! / 2);
    // Other prices are not taken for those before.
    const other = labels.cheapest({ ...PRICES, perGpu: [2, 1.6] }, Infinity);
    expect(other / all[0]!).toBeCloseTo(2, 9);
    expect(labels.variedBelow(all[0]! * 1.5, PRICES, 3).length).toBeLessThanOrEqual(3);
  });
});
