import { describe, expect, test } from 'vitest';
import { randomProblem, type Shape, stream } from '../../../bench/refute/pooled/random-problem.js';
import type { DeviceClass, PooledSpec } from '../../../src/formats/index.js';
import { type ColumnPrices, ListedColumns } from '../../../src/milp/columns/column-source.js';
import { type ColumnSet, enumerateColumns } from '../../../src/milp/columns/columns.js';
import { LabelPricing } from '../../../src/milp/columns/label-pricing.js';
import type { PooledProblem } from '../../../src/milp/index.js';
import { modelTable } from '../../../src/milp/tables/tables.js';
import { cases, inWholeRun, whole } from '../../cases.js';

const SHAPE: Shape = { classes: 3, blocks: 6, batches: 3, virtual: [1, 2], models: 1, mostGpus: 5 };
const TIMED: Shape = { ...SHAPE, timedSpans: true };

type Planner = NonNullable<PooledSpec['planner']>;
type Change = (problem: PooledProblem) => PooledProblem;

const same: Change = (problem) => problem;

function withDevice(problem: PooledProblem, name: string, change: Partial<DeviceClass>): PooledProblem {
  const { devices } = problem.cluster;
  const device = { ...(devices[name] as DeviceClass), ...change };
  return { ...problem, cluster: { ...problem.cluster, devices: { ...devices, [name]: device } } };
}

/** range gives the seeds from 1 to `last`. */
function range(last: number): number[] {
  return Array.from({ length: last }, (_, i) => i + 1);
}

describe('LabelPricing', () => {
  /** Expects that labels find a column as cheap as the cheapest of all listed columns. */
  function expectCheapest(
    seed: number,
    planner: Planner,
    prices: ColumnPrices,
    change: Change = same,
    shape: Shape = SHAPE,
  ): void {
    const next = stream(seed);
    const random = randomProblem(seed, shape, {
      ...planner,
      batchFormation: { factor: 1, estimatedRps: 900 },
    });
    const problem = change(random);
    const table = modelTable(problem, 0);
    const all = new ListedColumns(enumerateColumns(table, problem.planner, { limit: 1e6 }) as ColumnSet);
    const labels = new LabelPricing(table, problem.planner);
    const cheapest = all.cheapest(prices, Infinity);
    const below = cheapest === Infinity ? Infinity : cheapest + Math.abs(cheapest) * next();
    const found = labels.cheapest(prices, below === Infinity ? 1 : below);
    if (cheapest === Infinity) expect({ seed, found }).toEqual({ seed, found: 1 });
    else expect({ seed, found: found / cheapest }).toEqual({ seed, found: expect.closeTo(1, 9) });
    expect(labels.cheaperThan(cheapest - 1e-9 * Math.abs(cheapest), prices, 10)).toEqual([]);
  }

  inWholeRun('finds the cheapest column of all when prices are random', () => {
    for (let seed = 1; seed <= cases(whole(8, 20), 120); seed++) {
      const next = stream(seed * 7919);
      const planner = {
        maxPartitions: 1 + (seed % 4),
        unifiedBatch: seed % 3 !== 0,
        linkThroughput: seed % 2 === 0,
      };
      const prices = { perGpu: [next(), next(), next()], perUse: [0, 0, 0] };
      const linkGbps = 1 + next();
      expectCheapest(seed, planner, prices, (problem) =>
        seed % 5 === 0 ? withDevice(problem, 'C0', { linkGbps }) : problem,
      );
    }
  });

  test('finds it when spans were timed in one piece, whatever they take', () => {
    // Seed 79 needs a bound that knows of cuts that save time.
    for (const seed of cases([...range(whole(10, 40)), 79], range(300))) {
      const next = stream(seed * 6007);
      const planner = { maxPartitions: 1 + (seed % 4), unifiedBatch: seed % 3 !== 0 };
      const prices = { perGpu: [next(), next(), next()], perUse: [0, 0, 0] };
      expectCheapest(seed, planner, prices, same, TIMED);
    }
  });

  inWholeRun('finds it when each class that a pipeline uses makes it cheaper once', () => {
    // Seed 107 is the first where two labels differ in the number of classes that can still make them cheaper.
    for (const seed of cases([...range(20), 107], range(200))) {
      const next = stream(seed * 7919);
      const prices = {
        perGpu: [next(), next(), next()],
        perUse: [next() * 4e-4, next() * 4e-4, next() * 4e-4],
      };
      expectCheapest(seed, { maxPartitions: 2 + (seed % 2), unifiedBatch: seed % 3 !== 0 }, prices);
    }
  });

  inWholeRun('finds it when batches are free and a large one takes long to cross a cut', () => {
    for (let seed = 1; seed <= cases(12, 120); seed++) {
      const next = stream(seed * 104729);
      const prices = { perGpu: [next(), 0.2 * next(), next()], perUse: [0, 0, 0] };
      const planner = { maxPartitions: 2 + (seed % 2), unifiedBatch: false, linkThroughput: false };
      const networkGbps = 2 + 6 * next();
      const sloFactor = 1 + 2 * next();
      expectCheapest(seed, planner, prices, (problem) => ({
        ...problem,
        cluster: { ...problem.cluster, networkGbps },
        models: problem.models.map((model) => ({ ...model, sloUs: model.sloUs * sloFactor })),
      }));
    }
  });

  test('gives columns with the price, latency and rates of the same columns when listed', () => {
    const problem = randomProblem(11, SHAPE, { maxPartitions: 3 });
    const table = modelTable(problem, 0);
    const set = enumerateColumns(table, problem.planner, { limit: 1e6 }) as ColumnSet;
    const listed = new Map(
      Array.from({ length: set.count }, (_, c) => set.column(c)).map((column) => [
        column.parts.map((p) => [p.end, p.slot, p.batch]).join(';'),
        column,
      ]),
    );
    const prices = { perGpu: [1, 0.5, 0.3], perUse: [0, 0, 0] };
    const found = new LabelPricing(table, problem.planner).variedBelow(1, prices, 1000);
    expect(found.length).toBeGreaterThan(10);
    for (const { column } of found) {
      const same = listed.get(column.parts.map((p) => [p.end, p.slot, p.batch]).join(';'));
      expect(same?.latencyUs).toBeCloseTo(column.latencyUs, 6);
      column.parts.forEach((part, d) => {
        expect(part.rps / (same?.parts[d]?.rps ?? 0)).toBeCloseTo(1, 9);
      });
    }
  });
});
