import { beforeAll, describe, expect, test } from 'vitest';
import { randomProblem, type Shape } from '../../../../bench/refute/pooled/random-problem.js';
import { type HighsEngine, loadHighs } from '../../../../src/lp/index.js';
import type { ListedColumns } from '../../../../src/milp/columns/column-source.js';
import { columnsUsing } from '../../../../src/milp/columns/columns.js';
import type { PooledProblem } from '../../../../src/milp/index.js';
import { heldToShares, minSharesOf, sharePrices } from '../../../../src/milp/integer/division/share-table.js';
import { gridColumns } from '../../../../src/milp/integer/grid-search/grid-columns.js';
import { gridPlan } from '../../../../src/milp/integer/grid-search/grid-search.js';
import type { FillRule } from '../../../../src/milp/integer/grid-search/model-rates.js';
import { gpusByClass } from '../../../../src/milp/master/master.js';
import { usedRps } from '../../../../src/milp/plan/plan-model.js';
import { seeds } from '../../../cases.js';
import { searchFor } from '../search-by-hand.js';

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

const SHAPE: Shape = { classes: 2, blocks: 4, batches: 2, virtual: [1, 2], models: 2, mostGpus: 12 };

const SHARES = [0.3, 0.6, 0.9, 1];

function sharing(seed: number, objective: 'throughput' | 'cost'): PooledProblem {
  const random = randomProblem(seed, SHAPE, { maxPartitions: 2, objective });
  const minShare = { [`C${seed % 2}`]: SHARES[seed % 4] as number };
  const models = random.models.map((one) => ({ ...one, rps: (one.rps as number) * 8, minShare }));
  return { ...random, models };
}

describe('sharePrices()', () => {
  test('are undercut by no column, and some column of each kind that the LP uses costs just as much', () => {
    let tight = 0;
    for (const seed of seeds(8, 100)) {
      const search = searchFor(sharing(seed, 'throughput'), highs);
      const { master, tables } = search;
      tables.forEach((table, m) => {
        const [share] = minSharesOf(table);
        const prices = sharePrices(master, m, share!);
        const cheapest = { using: Infinity, others: Infinity };
        const { set } = search.sources[m] as ListedColumns;
        for (let c = 0; c < set.count; c++) {
          const gpus = gpusByClass(set.column(c), table, 2);
          const kind = gpus[share!.classIndex]! > 0 ? 'using' : 'others';
          const price = gpus.reduce((sum, n, k) => sum + n * master.gpuPrices[k]!, 0);
          cheapest[kind] = Math.min(cheapest[kind], price);
        }
        if (!(master.modelPrices[m]! > 0)) return;
        expect(cheapest.using).toBeGreaterThanOrEqual(prices.using * (1 - 1e-9));
        expect(cheapest.others).toBeGreaterThanOrEqual(prices.others * (1 - 1e-9));
        if (cheapest.using <= prices.using * (1 + 1e-6) && cheapest.others <= prices.others * (1 + 1e-6))
          tight++;
      });
    }
    expect(tight).toBeGreaterThan(2);
  });
});

describe('ShareTable', () => {
  const rules: FillRule[] = [
    { pool: true, shared: false },
    { pool: false, shared: false },
    { pool: false, shared: true },
  ];

  test('finds the same plan with a far larger budget, and with one that hardly holds it', () => {
    let found = 0;
    for (const seed of seeds(6, 60))
      for (const objective of ['throughput', 'cost'] as const) {
        const search = searchFor(sharing(seed, objective), highs);
        const { sets } = gridColumns(search);
        const rule = rules[seed % 3] as FillRule;
        const value = gridPlan(search, sets, { rule })?.value as number;
        if (!Number.isFinite(value) || value <= 0) continue;
        for (const factor of [10, 1.001]) {
          const known = objective === 'throughput' ? value / factor : value * factor;
          expect({ seed, objective, value: gridPlan(search, sets, { rule, known })?.value }).toEqual({
            seed,
            objective,
            value: expect.closeTo(value, 9),
          });
        }
        found++;
      }
    expect(found).toBeGreaterThan(6);
  });

  test('ends wherever it is stopped', () => {
    const random = randomProblem(1, { ...SHAPE, models: 1, mostGpus: 80 }, { maxPartitions: 2 });
    const problem = { ...random, models: random.models.map((one) => ({ ...one, minShare: { C1: 0.6 } })) };
    const search = searchFor(problem, highs);
    const { sets } = gridColumns(search);
    const asking = (last: number) => {
      let asked = 0;
      const stop = () => ++asked > last;
      const plan = gridPlan({ ...search, stop }, sets, { rule: rules[2] as FillRule, known: 0 });
      return { asked, plan };
    };
    const { asked, plan } = asking(Infinity);
    expect(plan?.value).toBeGreaterThan(0);
    expect(asked).toBeGreaterThan(3);
    for (const last of [0, 1, asked >> 1, asked - 1]) expect(asking(last).plan).toBeUndefined();
  });
});

describe('columnsUsing()', () => {
  test('divides a set into the columns with a partition on the class and those without', () => {
    const search = searchFor(sharing(2, 'throughput'), highs);
    const { set } = search.sources[0] as ListedColumns;
    const { using, others } = columnsUsing(set, 1);
    const all = Array.from({ length: set.count }, (_, c) => set.column(c));
    const onB = all.filter((column) => gpusByClass(column, set.table, 2)[1]! > 0);
    expect(Array.from({ length: using.count }, (_, c) => using.column(c))).toEqual(onB);
    expect(Array.from({ length: others.count }, (_, c) => others.column(c))).toEqual(
      all.filter((column) => !onB.includes(column)),
    );
    expect(Math.min(using.count, others.count)).toBeGreaterThan(0);
  });
});

describe('heldToShares()', () => {
  test('holds the other columns back, and leaves models without shares alone', () => {
    const search = searchFor(sharing(3, 'throughput'), highs);
    const tables = search.tables.map((table, m) =>
      m === 0
        ? { ...table, minShare: Float64Array.of(0, 0.8) }
        : { ...table, minShare: Float64Array.of(0, 0) },
    );
    const used = search.sources.flatMap((source, m) => {
      const { set } = source as ListedColumns;
      const { using, others } = columnsUsing(set, 1);
      return [using.column(0), others.column(0)].map((column) => ({
        column: { ...column, model: m },
        virtualGpus: column.parts.map(() => 2),
      }));
    });
    const held = heldToShares(used, tables);
    const [a, b, c, d] = held.map(usedRps);
    const [all, others] = [usedRps(used[0]!), usedRps(used[1]!)];
    expect(a).toBeCloseTo(all, 9);
    expect(b).toBeCloseTo(Math.min(others, all / 4), 6);
    expect([c, d]).toEqual([usedRps(used[2]!), usedRps(used[3]!)]);
    expect(held.slice(2)).toEqual(used.slice(2));
    const none = tables.map((table) => ({ ...table, minShare: Float64Array.of(0, 0) }));
    expect(heldToShares(used, none)).toBe(used);
  });
});
