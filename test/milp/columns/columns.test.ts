import { describe, expect, test } from 'vitest';
import { randomProblem, type Shape, stream } from '../../../bench/refute/pooled/random-problem.js';
import type { PlannedPipeline } from '../../../src/formats/index.js';
import { ListedColumns, roundSteps } from '../../../src/milp/columns/column-source.js';
import {
  type Column,
  type ColumnSet,
  columnSetOf,
  enumerateColumns,
} from '../../../src/milp/columns/columns.js';
import { LabelPricing } from '../../../src/milp/columns/label-pricing.js';
import { plannedColumn } from '../../../src/milp/columns/planned-columns.js';
import type { PooledProblem } from '../../../src/milp/index.js';
import { modelTable } from '../../../src/milp/tables/tables.js';
import { type ModelByHand, problemByHand } from '../by-hand.js';

const SHAPE: Shape = { classes: 2, blocks: 4, batches: 2, virtual: [1, 2], models: 1, mostGpus: 4 };

/** A problem in which blocks have weights, and some devices are too small for some blocks. */
function heavy(seed: number, unifiedBatch: boolean): PooledProblem {
  const random = randomProblem(seed, SHAPE, { maxPartitions: 3, unifiedBatch });
  const next = stream(seed + 77);
  const devices = Object.fromEntries(
    Object.entries(random.cluster.devices).map(([name, device]) => [
      name,
      { ...device, memoryGiB: 1 + 2 * next() },
    ]),
  );
  const models = random.models.map((model) => {
    const blocks = model.profile.blocks.map((block) => ({
      ...block,
      weightBytes: Math.floor(2 ** 30 * next()),
    }));
    return { ...model, sloUs: 3 * model.sloUs, profile: { ...model.profile, blocks } };
  });
  return { ...random, cluster: { ...random.cluster, devices }, models };
}

const nameOf = ({ parts }: Column) => parts.map((p) => [p.end, p.slot, p.batch].join()).join(' ');

/**
 * Lists every way to cut and place the blocks by counting through the choices, and keeps those whose latency and
 * weights fit.
 */
function allNames(problem: PooledProblem): string[] {
  const table = modelTable(problem, 0);
  const { maxPartitions, unifiedBatch } = problem.planner;
  const { profile, sloUs, sloMarginUs } = problem.models[0]!;
  const names: string[] = [];
  const extend = (parts: { first: number; end: number; slot: number; batch: number }[]): void => {
    const first = parts.at(-1)?.end ?? 0;
    if (first === 4) {
      let us = 0;
      parts.forEach(({ first: from, end, slot, batch }, d) => {
        const { className, virtual } = table.slots[slot]!;
        const row = profile.devices[className]?.blockLatencyUs[virtual]?.[batch + 1] ?? [];
        us += row.slice(from, end).reduce<number>((sum, one) => sum + Math.max(1, one ?? 0), 0);
        const before = parts[d - 1];
        if (before === undefined) return;
        const bytes = profile.blocks[from - 1]!.cutBytes;
        us += ((before.batch + 1) * 8 * bytes) / (problem.cluster.networkGbps! * 1000);
      });
      const fits = parts.every(({ first: from, end, slot }) => {
        const { className, virtual } = table.slots[slot]!;
        const bytes = profile.blocks.slice(from, end).reduce((sum, one) => sum + one.weightBytes!, 0);
        return bytes <= (problem.cluster.devices[className]!.memoryGiB! * 2 ** 30) / virtual;
      });
      if (fits && us <= sloUs - sloMarginUs)
        names.push(parts.map((p) => [p.end, p.slot, p.batch].join()).join(' '));
      return;
    }
    if (parts.length === maxPartitions) return;
    for (let end = first + 1; end <= 4; end++)
      table.slots.forEach((_, slot) => {
        for (const batch of [0, 1])
          if (!unifiedBatch || parts.length === 0 || parts[0]!.batch === batch)
            extend([...parts, { first, end, slot, batch }]);
      });
  };
  extend([]);
  return names.sort();
}

describe('enumerateColumns()', () => {
  test('lists every pipeline that meets the SLO and fits into memory, once', () => {
    let few = 0;
    for (let seed = 1; seed <= 8; seed++)
      for (const unified of [true, false]) {
        const problem = heavy(seed, unified);
        const set = enumerateColumns(modelTable(problem, 0), problem.planner, { limit: 1e6 }) as ColumnSet;
        const names = Array.from({ length: set.count }, (_, c) => nameOf(set.column(c)));
        const all = allNames(problem);
        expect(names.sort(), `seed ${seed}`).toEqual(all);
        const light = {
          ...problem,
          models: problem.models.map((one) => ({
            ...one,
            profile: {
              ...one.profile,
              blocks: one.profile.blocks.map((block) => ({ ...block, weightBytes: 0 })),
            },
          })),
        };
        if (allNames(light).length > all.length) few++;
      }
    expect(few).toBeGreaterThan(4);
  });

  test('gives up past its limit, and when it is told to stop', () => {
    const problem = heavy(1, false);
    const table = modelTable(problem, 0);
    const { count } = enumerateColumns(table, problem.planner, { limit: 1e6 }) as ColumnSet;
    expect(enumerateColumns(table, problem.planner, { limit: count })?.count).toBe(count);
    expect(enumerateColumns(table, problem.planner, { limit: count - 1 })).toBeUndefined();
    // The stop is asked after many steps, and 30 blocks of one class have enough pipelines of three partitions.
    const row = Array.from({ length: 30 }, () => 1);
    const model: ModelByHand = { name: 'm', sloMs: 100, latencyUs: { A: { 1: { 1: row, 2: row } } } };
    const long = problemByHand({ A: { count: 2 }, B: { count: 0 } }, [model], { maxPartitions: 4 });
    const asked: number[] = [];
    const stop = (steps: number) => asked.push(steps) > 1;
    const options = { limit: 1e6, stop };
    expect(enumerateColumns(modelTable(long, 0), long.planner, options)).toBeUndefined();
    expect(asked).toHaveLength(2);
    for (const steps of asked) expect(steps).toBeGreaterThanOrEqual(65_536);
  });
});

describe('ListedColumns', () => {
  const problem = heavy(2, false);
  const table = modelTable(problem, 0);
  const set = enumerateColumns(table, problem.planner, { limit: 1e6 }) as ColumnSet;
  const prices = { perGpu: [1, 0.7], perUse: [0, 1e-4] };

  /** The price of a column from its definition. */
  const priceOf = ({ parts }: Column): number => {
    const uses = new Set(parts.map(({ slot }) => table.slots[slot]!.classIndex));
    const gpus = parts.reduce((sum, { slot, rps }) => {
      const { classIndex, virtual } = table.slots[slot]!;
      return sum + prices.perGpu[classIndex]! / (rps * virtual);
    }, 0);
    return gpus - [...uses].reduce((sum, k) => sum + prices.perUse[k]!, 0);
  };

  test('gives the cheapest columns first, and only columns below the given price', () => {
    const source = new ListedColumns(set);
    const all = Array.from({ length: set.count }, (_, c) => set.column(c)).sort(
      (a, b) => priceOf(a) - priceOf(b),
    );
    const sorted = all.map(priceOf);
    expect(source.cheapest(prices, Infinity)).toBeCloseTo(sorted[0]!, 12);
    expect(source.cheapest(prices, sorted[0]! - 1)).toBe(sorted[0]! - 1);
    const below = source.cheaperThan(Infinity, prices, 1e6)[5]!.price;
    const found = source.cheaperThan(below, prices, 1e6);
    expect(found.map(({ price }) => price)).toEqual(
      source
        .cheaperThan(Infinity, prices, 1e6)
        .map(({ price }) => price)
        .filter((price) => price < below),
    );
    for (const { column, price } of found) expect(price).toBeCloseTo(priceOf(column), 12);
    const few = source.cheapestOf(prices, 7).map(({ price }) => price);
    expect(few).toHaveLength(7);
    few.forEach((price, i) => {
      expect(price).toBeCloseTo(sorted[i]!, 7);
    });
  });

  test('keeps the columns of a set, and counts the steps of a round', () => {
    const given = [0, 5, 9].map((c) => set.column(c));
    const some = columnSetOf(table, 3, given);
    const again = [0, 1, 2].map((c) => some.column(c));
    expect(again.map(nameOf)).toEqual(given.map(nameOf));
    again.forEach(({ parts, latencyUs }, i) => {
      expect(latencyUs).toBe(given[i]!.latencyUs);
      parts.forEach(({ rps }, d) => {
        expect(rps).toBeCloseTo(given[i]!.parts[d]!.rps, 6);
      });
    });
    const labels = new LabelPricing(table, problem.planner);
    expect(roundSteps([new ListedColumns(some), labels])).toBe(2 * 3 * 3);
  });
});

describe('LabelPricing', () => {
  test('finds the cheapest of the columns that fit into memory', () => {
    for (let seed = 1; seed <= 12; seed++) {
      const problem = heavy(seed, seed % 2 === 0);
      const table = modelTable(problem, 0);
      const listed = new ListedColumns(enumerateColumns(table, problem.planner, { limit: 1e6 }) as ColumnSet);
      const next = stream(seed);
      const prices = { perGpu: [next(), next()], perUse: [0, 0] };
      const cheapest = listed.cheapest(prices, Infinity);
      const found = new LabelPricing(table, problem.planner).cheapestOf(prices, 3);
      if (cheapest === Infinity) expect(found).toEqual([]);
      else expect({ seed, ratio: found[0]!.price / cheapest }).toEqual({ seed, ratio: expect.closeTo(1, 9) });
    }
  });

  test('proves no more than it has searched when it is stopped', () => {
    for (let seed = 1; seed <= 3; seed++) {
      const problem = randomProblem(seed, { ...SHAPE, blocks: 20 }, { maxPartitions: 3 });
      const table = modelTable(problem, 0);
      const prices = { perGpu: [1, 0.6], perUse: [0, 0] };
      const whole = new LabelPricing(table, problem.planner).cheapest(prices, Infinity);
      const stopped = new LabelPricing(table, problem.planner, () => true).cheapest(prices, Infinity);
      expect(stopped).toBeLessThanOrEqual(whole * (1 + 1e-12));
      expect(stopped).toBeGreaterThan(0);
    }
  });
});

describe('plannedColumn()', () => {
  const problem = heavy(3, true);
  const table = modelTable(problem, 0);
  const set = enumerateColumns(table, problem.planner, { limit: 1e6 }) as ColumnSet;
  const before = [0, 1, 2, 3, 4];

  const plannedFrom = ({ parts }: Column) =>
    ({
      partitions: parts.map(({ first, end, slot, batch }) => ({
        blocks: [first, end],
        device: table.slots[slot]!.className,
        virtual: table.slots[slot]!.virtual,
        batch: table.batches[batch],
      })),
    }) as unknown as PlannedPipeline;

  test('gives the column of a planned pipeline', () => {
    for (let c = 0; c < set.count; c++) {
      const column = set.column(c);
      const made = plannedColumn(table, { pipeline: plannedFrom(column), before }, problem.planner)!;
      expect(nameOf(made)).toBe(nameOf(column));
      expect(made.latencyUs).toBeCloseTo(column.latencyUs, 9);
      made.parts.forEach(({ first, rps }, d) => {
        expect(first).toBe(column.parts[d]!.first);
        expect(rps / column.parts[d]!.rps).toBeCloseTo(1, 9);
      });
    }
    expect(set.count).toBeGreaterThan(10);
  });

  test('gives nothing where a cut is not valid, a size was not measured or the SLO is missed', () => {
    const column = Array.from({ length: set.count }, (_, c) => set.column(c)).find(
      ({ parts }) => parts.length === 2,
    )!;
    const pipeline = plannedFrom(column);
    const { end } = column.parts[0]!;
    const uncut = { ...table, cuts: table.cuts.filter((cut) => cut !== end) };
    expect(plannedColumn(uncut, { pipeline, before }, problem.planner)).toBeUndefined();
    const other = { partitions: pipeline.partitions.map((one) => ({ ...one, virtual: 5 })) };
    expect(
      plannedColumn(table, { pipeline: other as PlannedPipeline, before }, problem.planner),
    ).toBeUndefined();
    const budgetUs = table.budgetUs.map(() => column.latencyUs * (1 + 1e-9));
    expect(plannedColumn({ ...table, budgetUs }, { pipeline, before }, problem.planner)).toBeDefined();
    const tight = budgetUs.map((us) => us * (1 - 1e-6));
    expect(
      plannedColumn({ ...table, budgetUs: tight }, { pipeline, before }, problem.planner),
    ).toBeUndefined();
  });

  test('gives nothing where a partition has no units', () => {
    const column = Array.from({ length: set.count }, (_, c) => set.column(c)).find(
      ({ parts }) => parts.length === 2,
    )!;
    const pipeline = plannedFrom(column);
    const allInFirst = before.map((_, k) => (k === 0 ? 0 : before.length - 1));
    const budgetUs = table.budgetUs.map(() => Infinity);
    expect(
      plannedColumn({ ...table, budgetUs }, { pipeline, before: allInFirst }, problem.planner),
    ).toBeUndefined();
  });
});
