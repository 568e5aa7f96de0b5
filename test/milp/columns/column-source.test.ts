import { describe, expect, test } from 'vitest';
import { randomProblem, type Shape, stream } from '../../../bench/refute/pooled/random-problem.js';
import { type ColumnSet, enumerateColumns, ListedColumns } from '../../../src/milp/columns/index.js';
import { modelTable } from '../../../src/milp/tables/index.js';

const SHAPE: Shape = { classes: 3, blocks: 3, batches: 2, virtual: [1, 2], models: 1, mostGpus: 2 };

describe('ListedColumns', () => {
  test('gives the cheapest columns below a price, and of those that cost as much the first listed', () => {
    let tied = 0;
    for (let seed = 1; seed <= 20; seed++) {
      const problem = randomProblem(seed, SHAPE, { maxPartitions: 2 });
      const table = modelTable(problem, 0);
      const set = enumerateColumns(table, problem.planner, { limit: 1e5 }) as ColumnSet;
      const next = stream(seed);
      // Where a class costs nothing, many columns cost as much.
      const prices = { perGpu: [Math.round(next()), next(), Math.round(next())], perUse: [0, 0, 0] };
      const all = Array.from({ length: set.count }, (_, c) => {
        const { parts } = set.column(c);
        const price = parts.reduce((sum, { slot }, d) => {
          const at = c * set.width + d;
          return sum + prices.perGpu[table.slots[slot]!.classIndex]! * set.gpusPerRps[at]!;
        }, 0);
        return { c, price };
      }).sort((a, b) => a.price - b.price || a.c - b.c);
      tied += all.filter(({ price }, i) => all[i + 1]?.price === price).length;
      const source = new ListedColumns(set);
      const middle = all[Math.floor(all.length / 2)]?.price ?? 1;
      for (const below of [Infinity, middle, 0])
        for (const count of [0, 1, 4, 1000]) {
          const wanted = all.filter(({ price }) => price < below).slice(0, count);
          expect(source.cheaperThan(below, prices, count)).toEqual(
            wanted.map(({ c, price }) => ({ column: set.column(c), price })),
          );
        }
    }
    expect(tied).toBeGreaterThan(0);
  });
});
