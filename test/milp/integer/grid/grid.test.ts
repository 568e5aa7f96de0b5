import { describe, expect, test } from 'vitest';
import { randomProblem, type Shape, stream } from '../../../../bench/refute/pooled/random-problem.js';
import { type ColumnSet, enumerateColumns } from '../../../../src/milp/columns/columns.js';
import {
  type Grid,
  gridOf,
  leastCommonMultiple,
  nextAmounts,
  worthOf,
} from '../../../../src/milp/integer/grid/grid.js';
import { ModelGrid, virtualGpusOf } from '../../../../src/milp/integer/grid/model-grid.js';
import { unitTable, wholeGpuTable } from '../../../../src/milp/integer/grid/whole-gpus.js';
import { usedRps } from '../../../../src/milp/plan/plan-model.js';
import { modelTable } from '../../../../src/milp/tables/tables.js';
import { cases } from '../../../cases.js';
import { manyColumns } from '../search-by-hand.js';

const SHAPE: Shape = { classes: 2, blocks: 2, batches: 2, virtual: [1, 2], models: 1, mostGpus: 2 };

describe('gridOf()', () => {
  test('counts units by class, the last class fastest', () => {
    expect(gridOf([1, 2, 3], 2, 1)).toEqual({
      perGpu: 2,
      units: [2, 4, 6],
      strides: [35, 7, 1],
      states: 105,
    });
  });

  test('takes amounts that rounding left below a unit as that unit', () => {
    expect(0.29 * 100).toBeLessThan(29);
    expect(gridOf([0.29, 1 - 1 / 12], 100, 1)?.units).toEqual([29, 91]);
  });

  test('is nothing where the states are too many for one model, or for all together', () => {
    expect(gridOf([1_999_999], 1, 1)?.states).toBe(2_000_000);
    expect(gridOf([1_999_999], 1, 3)?.states).toBe(2_000_000);
    expect(gridOf([2_000_000], 1, 1)).toBeUndefined();
    expect(gridOf([1_499_999], 1, 4)?.states).toBe(1_500_000);
    expect(gridOf([1_500_000], 1, 4)).toBeUndefined();
  });

  test('has as its unit what all virtual sizes divide', () => {
    expect(leastCommonMultiple([])).toBe(1);
    expect(leastCommonMultiple([1, 2, 3, 4])).toBe(12);
    expect(leastCommonMultiple([4, 6])).toBe(12);
  });

  test('steps through the amounts of the states in order', () => {
    const amounts = new Int32Array(2);
    const seen = Array.from({ length: 7 }, () => {
      const now = amounts.join();
      nextAmounts(amounts, [1, 2]);
      return now;
    });
    expect(seen).toEqual(['0,0', '0,1', '0,2', '1,0', '1,1', '1,2', '0,0']);
  });
});

interface Case {
  readonly set: ColumnSet;
  readonly grid: Grid;
  readonly available: readonly number[];
  /** Prices of GPUs at which no column is cheaper than a request per second. */
  readonly gpuPrices: readonly number[];
}

function caseOf(seed: number, pool: boolean, shape: Shape = SHAPE): Case {
  const problem = randomProblem(seed, shape, { maxPartitions: 2 });
  const set = enumerateColumns(modelTable(problem, 0), problem.planner, { limit: 1e5 }) as ColumnSet;
  const available = Object.values(problem.cluster.devices).map(({ count }) => count);
  const grid = gridOf(available, pool ? 1 : leastCommonMultiple(shape.virtual), 1) as Grid;
  const next = stream(seed + 31);
  const guess = available.map(() => 0.2 + next());
  const cheapest = Math.min(
    ...Array.from({ length: set.count }, (_, c) =>
      set.column(c).parts.reduce((sum, { slot, rps }) => {
        const { classIndex, virtual } = set.table.slots[slot]!;
        return sum + guess[classIndex]! / (rps * virtual);
      }, 0),
    ),
  );
  return { set, grid, available, gpuPrices: guess.map((price) => price / cheapest) };
}

function amountsOf(grid: Grid, u: number): number[] {
  return grid.strides.map((stride, k) => Math.floor(u / stride) % (grid.units[k]! + 1));
}

/** The most that at most these units serve, by every column with every number of units for each of its partitions. */
function bestWithin({ set, grid }: Case, pool: boolean): (u: number) => number {
  const columns = Array.from({ length: set.count }, (_, c) =>
    set.column(c).parts.map(({ slot, rps }) => {
      const { classIndex, virtual } = set.table.slots[slot]!;
      return pool
        ? { k: classIndex, units: 1, rps: rps * virtual }
        : { k: classIndex, units: grid.perGpu / virtual, rps };
    }),
  );
  const known = new Map<number, number>();
  const best = (u: number): number => {
    const memo = known.get(u);
    if (memo !== undefined) return memo;
    let most = 0;
    const left = amountsOf(grid, u);
    for (const parts of columns) {
      const take = (d: number, rps: number, at: number): void => {
        if (d === parts.length) {
          most = Math.max(most, rps + best(at));
          return;
        }
        const { k, units, rps: each } = parts[d]!;
        const before = left[k]!;
        for (let n = 1; n * units <= before; n++) {
          left[k] = before - n * units;
          take(d + 1, Math.min(rps, n * each), at - n * units * grid.strides[k]!);
        }
        left[k] = before;
      };
      take(0, Infinity, u);
    }
    known.set(u, most);
    return most;
  };
  return best;
}

/** What is wrong with the columns of a state that is said to serve a rate with at most some units. */
function faultsOf(
  { set, grid }: Case,
  model: ModelGrid,
  at: number,
  { rps, amounts }: { readonly rps: number; readonly amounts: readonly number[] },
): string[] {
  const used = model.columnsAt(at);
  const served = used.reduce((sum, column) => sum + usedRps(column), 0);
  const taken = grid.units.map(() => 0);
  for (const { column, virtualGpus } of used)
    column.parts.forEach(({ slot }, d) => {
      const { classIndex, virtual } = set.table.slots[slot]!;
      taken[classIndex] = taken[classIndex]! + (virtualGpus[d]! * grid.perGpu) / virtual;
    });
  return [
    ...(served >= rps * (1 - 1e-9) ? [] : [`the columns of ${at} serve ${served} of ${rps}`]),
    ...(taken.every((n, k) => n <= amounts[k]! + 1e-9) ? [] : [`the columns of ${at} take ${taken}`]),
  ];
}

describe('ModelGrid', () => {
  for (const pool of [true, false])
    test(`knows the most that every amount of GPUs serves, with ${pool ? 'whole GPUs' : 'parts of them'}`, () => {
      for (let seed = 1; seed <= cases(4, 40); seed++) {
        const one = caseOf(seed, pool);
        const { set, grid, gpuPrices } = one;
        const most = bestWithin(one, pool);
        const all = worthOf(grid.units, gpuPrices, grid.perGpu);
        for (const budget of [Infinity, 0.2 * all, 0.05 * all]) {
          const model = new ModelGrid(grid, set, { pool, gpuPrices, budget });
          const table = unitTable(model);
          const wrong: string[] = [];
          for (let u = 0; u < grid.states; u++) {
            const amounts = amountsOf(grid, u);
            const worth = worthOf(amounts, gpuPrices, grid.perGpu);
            const [rps, best] = [table.rps[u]!, most(u)];
            if (Math.abs(model.worth(u) - worth) > 1e-9 * worth) wrong.push(`worth of ${u}`);
            if (rps > best * (1 + 1e-9)) wrong.push(`more than there is at ${u}`);
            // Idle units count as lost, so what remains within the budget is known.
            const isKnown = worth - best <= budget * (1 - 1e-9);
            if (isKnown && rps < best * (1 - 1e-9)) wrong.push(`less than the best at ${u}`);
            if (rps > 0) wrong.push(...faultsOf(one, model, table.at[u]!, { rps, amounts }));
          }
          expect({ seed, budget, wrong }).toEqual({ seed, budget, wrong: [] });
        }
      }
    });

  for (const pool of [true, false])
    test(`visits in order each state that is kept, with ${pool ? 'whole GPUs' : 'parts of them'}`, () => {
      for (let seed = 1; seed <= cases(6, 40); seed++) {
        const one = caseOf(seed, pool);
        const { set, grid, gpuPrices } = one;
        const all = new ModelGrid(grid, set, { pool, gpuPrices, budget: Infinity });
        const budget = 0.1 * worthOf(grid.units, gpuPrices, grid.perGpu);
        const model = new ModelGrid(grid, set, { pool, gpuPrices, budget });
        const visited = new Map<number, string>();
        model.eachKept((u, amounts, loss) => {
          const worth = worthOf(amounts, gpuPrices, grid.perGpu);
          expect(loss).toBe(worth - model.rps[u]!);
          expect(loss).toBeLessThanOrEqual(budget);
          visited.set(u, amounts.join());
        });
        const kept: [number, string][] = [];
        for (let u = 0; u < grid.states; u++) {
          const amounts = amountsOf(grid, u);
          const isReached = u === 0 || all.rps[u]! > 0;
          if (!isReached || worthOf(amounts, gpuPrices, grid.perGpu) - all.rps[u]! > budget) continue;
          kept.push([u, amounts.join()]);
          expect(model.rps[u]!).toBeCloseTo(all.rps[u]!, 6);
        }
        expect([...visited]).toEqual(kept);
        expect(model.stopped).toBe(false);
      }
    });

  test('is unfit for use once it was stopped', () => {
    const one = caseOf(4, true, { ...SHAPE, classes: 2, mostGpus: 1 });
    const grid = gridOf([120, 120], 1, 1) as Grid;
    const asked: number[] = [];
    const options = { pool: true, gpuPrices: [0, 0], budget: Infinity };
    const stop = (steps: number) => asked.push(steps) > 1;
    expect(new ModelGrid(grid, one.set, { ...options, stop }).stopped).toBe(true);
    expect(asked).toHaveLength(2);
    for (const steps of asked) expect(steps).toBeGreaterThanOrEqual(65_536);
  });
});

describe('ModelGrid of many columns', () => {
  const { problem, table } = manyColumns();
  const set = enumerateColumns(table, problem.planner, { limit: 1e5 }) as ColumnSet;

  test('is stopped while it looks at the columns themselves', () => {
    const asked: number[] = [];
    const stop = (steps: number) => asked.push(steps) > 0;
    const options = { pool: true, gpuPrices: [0, 0], budget: Infinity };
    expect(new ModelGrid(gridOf([120, 120], 1, 1) as Grid, set, { ...options, stop }).stopped).toBe(true);
    expect(asked).toHaveLength(1);
    const all: number[] = [];
    const patient = (steps: number) => all.push(steps) < 0;
    const grid = new ModelGrid(gridOf([120, 2], 1, 1) as Grid, set, { ...options, stop: patient });
    expect(grid.stopped).toBe(false);
    expect(all.length).toBeGreaterThan(0);
    expect(new ModelGrid(gridOf([120, 2], 1, 1) as Grid, set, options).rps).toEqual(grid.rps);
  });

  test('serves more with every GPU more, in proportion for many of them', () => {
    const grid = gridOf([40, 40], 1, 1) as Grid;
    const model = new ModelGrid(grid, set, { pool: true, gpuPrices: [0, 0], budget: Infinity });
    const { rps, at } = unitTable(model);
    const wrong: string[] = [];
    for (let u = 0; u < grid.states; u++) {
      const amounts = amountsOf(grid, u);
      amounts.forEach((n, k) => {
        if (n > 0 && rps[u - grid.strides[k]!]! > rps[u]!) wrong.push(`less at ${u}`);
        // Twice as many GPUs serve at least twice as much.
        const half = amounts.map((own) => Math.floor(own / 2));
        const below = half.reduce((sum, own, i) => sum + own * grid.strides[i]!, 0);
        if (rps[u]! < 2 * rps[below]! * (1 - 1e-9)) wrong.push(`less than twice a half at ${u}`);
      });
      if (rps[u]! > 0 && u % 97 === 0) {
        const one = { set, grid, available: [40, 40], gpuPrices: [0, 0] };
        wrong.push(...faultsOf(one, model, at[u]!, { rps: rps[u]!, amounts }));
      }
    }
    expect(wrong).toEqual([]);
  });
});

describe('wholeGpuTable()', () => {
  test('reads at whole GPUs what parts of GPUs serve, where fewer GPUs may be all that is used', () => {
    for (let seed = 1; seed <= cases(4, 40); seed++) {
      const one = caseOf(seed, false);
      const { set, grid, gpuPrices, available } = one;
      const most = bestWithin(one, false);
      const table = wholeGpuTable(
        new ModelGrid(grid, set, { pool: false, gpuPrices, budget: Infinity }),
        available,
      );
      expect(table.counts).toEqual(available);
      expect(table.states).toBe(available.reduce((product, n) => product * (n + 1), 1));
      const rates: number[] = [];
      for (let n = 0; n < table.states; n++) {
        const gpus = table.strides.map((stride, k) => Math.floor(n / stride) % (available[k]! + 1));
        const u = gpus.reduce((sum, count, k) => sum + count * grid.perGpu * grid.strides[k]!, 0);
        rates.push(most(u));
      }
      rates.forEach((rps, n) => {
        expect(table.rps[n]!, `seed ${seed}, ${n}`).toBeCloseTo(rps, 6);
      });
    }
  });
});

describe('virtualGpusOf()', () => {
  test('is no more than a throughput needs: whole GPUs of a pool, or parts of them', () => {
    const { set } = caseOf(2, true);
    for (let c = 0; c < set.count; c++) {
      const { parts } = set.column(c);
      const rps = 2.5 * parts[0]!.rps;
      for (const pool of [true, false])
        virtualGpusOf(set, { column: c, rps }, pool).forEach((n, d) => {
          const step = pool ? set.table.slots[parts[d]!.slot]!.virtual : 1;
          expect(n % step).toBe(0);
          expect(n * parts[d]!.rps).toBeGreaterThanOrEqual(rps * (1 - 1e-9));
          expect((n - step) * parts[d]!.rps).toBeLessThan(rps);
        });
    }
  });
});
