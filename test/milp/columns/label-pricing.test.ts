import { describe, expect, test } from 'vitest';
import { ListedColumns } from '../../../src/milp/columns/column-source.js';
import { type ColumnSet, enumerateColumns } from '../../../src/milp/columns/columns.js';
import { LabelPricing } from '../../../src/milp/columns/label-pricing.js';
import { modelTable } from '../../../src/milp/tables/tables.js';
import { cases } from '../../cases.js';
import { randomProblem, type Shape, stream } from '../random-problem.js';

const SHAPE: Shape = { classes: 3, blocks: 6, batches: 3, virtual: [1, 2], models: 1, mostGpus: 5 };

describe('LabelPricing', () => {
  test('finds the cheapest column of all when prices are random', () => {
    for (let seed = 1; seed <= cases(60, 150); seed++) {
      const next = stream(seed * 7919);
      const planner = {
        maxPartitions: 1 + (seed % 4),
        unifiedBatch: seed % 3 !== 0,
        linkThroughput: seed % 2 === 0,
      };
      const problem = randomProblem(seed, SHAPE, {
        ...planner,
        batchFormation: { factor: 1, estimatedRps: 900 },
      });
      const unlike = { ...problem.cluster.devices };
      if (seed % 5 === 0) unlike.C0 = { ...(unlike.C0 as { count: number }), linkGbps: 1 + next() };
      const cluster = { ...problem.cluster, devices: unlike };
      const table = modelTable({ ...problem, cluster }, 0);
      const all = new ListedColumns(enumerateColumns(table, problem.planner, 1e6) as ColumnSet);
      const labels = new LabelPricing(table, problem.planner);
      const perUse = [0, 1, 2].map(() => (seed % 4 === 0 ? next() * 1e-4 : 0));
      const prices = { perGpu: [next(), next(), next()], perUse };
      const cheapest = all.cheapest(prices, Infinity);
      const below = cheapest === Infinity ? Infinity : cheapest + Math.abs(cheapest) * next();
      const found = labels.cheapest(prices, below === Infinity ? 1 : below);
      if (cheapest === Infinity) expect({ seed, found }).toEqual({ seed, found: 1 });
      else
        expect({ seed, off: Math.abs(found - cheapest) <= 1e-9 * Math.abs(cheapest) }).toEqual({
          seed,
          off: true,
        });
      expect(labels.cheaperThan(cheapest * (1 - 1e-9), prices, 10)).toEqual([]);
    }
  });

  test('gives columns whose price, latency and rates are those of the same column listed', () => {
    const problem = randomProblem(11, SHAPE, { maxPartitions: 3 });
    const table = modelTable(problem, 0);
    const set = enumerateColumns(table, problem.planner, 1e6) as ColumnSet;
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
