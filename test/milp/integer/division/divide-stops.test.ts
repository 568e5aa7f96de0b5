import { describe, expect, test } from 'vitest';
import { type ColumnSet, enumerateColumns } from '../../../../src/milp/columns/columns.js';
import { divideByPrice, type PriceGoal } from '../../../../src/milp/integer/division/divide-by-price.js';
import { divideByWeight, type WeightGoal } from '../../../../src/milp/integer/division/divide-by-weight.js';
import type { Division } from '../../../../src/milp/integer/division/division.js';
import { type Grid, gridOf } from '../../../../src/milp/integer/grid/grid.js';
import { ModelGrid } from '../../../../src/milp/integer/grid/model-grid.js';
import type { WholeGpuTable } from '../../../../src/milp/integer/grid/whole-gpus.js';
import { dividePositions } from '../../../../src/milp/integer/positions/divide-positions.js';
import { usedRps } from '../../../../src/milp/plan/plan-model.js';
import { modelTable } from '../../../../src/milp/tables/tables.js';
import { type ModelByHand, problemByHand } from '../../by-hand.js';

/** A table in which every GPU of every class serves as much as the last. */
function lineTable(counts: readonly number[], each: readonly number[]): WholeGpuTable {
  const strides = counts.map((_, k) => counts.slice(k + 1).reduce((product, n) => product * (n + 1), 1));
  const states = counts.reduce((product, n) => product * (n + 1), 1);
  const rps = Float64Array.from({ length: states }, (_, u) =>
    counts.reduce((sum, n, k) => sum + each[k]! * (Math.floor(u / strides[k]!) % (n + 1)), 0),
  );
  return { counts, strides, states, rps, at: Int32Array.from({ length: states }, (_, u) => u) };
}

/** Says to stop when it is asked for the n-th time, and remembers how many steps it was told of. */
function stopAt(n: number) {
  const asked: number[] = [];
  const stop = (steps: number) => asked.push(steps) >= n;
  return { asked, stop };
}

const STOP_EVERY = 65_536;

describe('divideByWeight()', () => {
  const tables = [1, 2, 3].map(() => lineTable([1000], [1]));
  const goal: WeightGoal = { weights: [1, 1, 1], bound: 334, base: [0, 0, 0], least: 300 };

  test('asks after every given number of steps whether to stop, and gives up when it is', () => {
    const free = stopAt(Infinity);
    expect(divideByWeight(tables, { ...goal, least: 0, stop: free.stop })?.value).toBe(333);
    expect(free.asked.length).toBeGreaterThan(1);
    for (const steps of free.asked) {
      expect(steps).toBeGreaterThanOrEqual(STOP_EVERY);
      expect(steps).toBeLessThan(2 * STOP_EVERY);
    }
    const first = stopAt(1);
    expect(divideByWeight(tables, { ...goal, least: 0, stop: first.stop })).toBeUndefined();
    expect(first.asked).toHaveLength(1);
    // Once the value is known, a stop only ends the look for the largest sum.
    const last = stopAt(free.asked.length);
    expect(divideByWeight(tables, { ...goal, least: 0, stop: last.stop })?.value).toBe(333);
  });

  test('divides without being asked to stop', () => {
    const found = divideByWeight(tables, goal);
    expect(found?.value).toBe(333);
    // One GPU is left, and is of use to any of them.
    expect(found?.states.reduce((sum, n) => sum + n, 0)).toBe(1000);
    expect(found?.states.every((n) => n >= 333)).toBe(true);
  });

  test('counts what is served already for no more than it is when it asks what the others need', () => {
    // The first model has more than it needs, which helps the others to nothing.
    const worth = { perUnit: [1], perModel: [1, 1, 1] };
    const found = divideByWeight(tables, { ...goal, base: [1e6, 0, 0], bound: 500, least: 500, worth });
    expect(found).toEqual({ value: 500, states: [0, 500, 500] });
  });
});

describe('divideByPrice()', () => {
  const goal: PriceGoal = { rps: [80, 80], unitCost: [2, 3], perGpu: 1 };
  const tables = [1, 2].map(() => lineTable([100, 100], [1, 2]));

  test('takes the least price, and of GPUs that cost the same the last class', () => {
    // A request per second costs 2 on the first class and 1.5 on the second.
    expect(divideByPrice(tables, goal)?.value).toBe(240);
    const even = divideByPrice(tables, { ...goal, unitCost: [1, 2] })!;
    expect(even.value).toBe(160);
    const total = even.states.reduce((sum, u) => sum + u, 0);
    expect([Math.floor(total / 101), total % 101]).toEqual([0, 80]);
    expect(divideByPrice(tables, { ...goal, rps: [200, 101] })).toEqual({ value: Infinity, states: [] });
    expect(divideByPrice(tables, { ...goal, rps: [200, 100] })?.value).toBe(500);
    expect(divideByPrice(tables, { ...goal, most: 239 })).toEqual({ value: Infinity, states: [] });
    expect(divideByPrice(tables, { ...goal, most: 240 })?.value).toBe(240);
  });

  test('asks after every given number of steps whether to stop, and gives up when it is', () => {
    const free = stopAt(Infinity);
    expect(divideByPrice(tables, { ...goal, stop: free.stop })?.value).toBe(240);
    expect(free.asked.length).toBeGreaterThan(1);
    for (const steps of free.asked) expect(steps).toBeGreaterThanOrEqual(STOP_EVERY);
    for (const n of [1, free.asked.length]) {
      const { asked, stop } = stopAt(n);
      expect(divideByPrice(tables, { ...goal, stop })).toBeUndefined();
      expect(asked).toHaveLength(n);
    }
  });

  test('asks too while it combines the GPUs of many models', () => {
    const many = [1, 2, 3].map(() => lineTable([24, 24, 24], [1, 1, 1]));
    const free = stopAt(1);
    expect(
      divideByPrice(many, { rps: [30, 30, 30], unitCost: [1, 1, 1], perGpu: 1, stop: free.stop }),
    ).toBeUndefined();
    expect(free.asked).toHaveLength(1);
  });

  test('gives a model that needs nothing no GPUs', () => {
    const found = divideByPrice(tables, { ...goal, rps: [0, 80] });
    expect(found).toEqual({ value: 120, states: [0, 40] });
  });
});

/** A GPU of A is two halves; each serves 1000 requests per second of block 0, and B 1000 of block 1. */
const NEVER = 100_000;
const MODEL: ModelByHand = {
  name: 'm',
  sloMs: 9,
  latencyUs: {
    A: { 1: { 1: [NEVER, NEVER] }, 2: { 1: [1000, NEVER] } },
    B: { 1: { 1: [NEVER, 1000] } },
    C: { 1: { 1: [NEVER, 1000] } },
  },
};

describe('dividePositions()', () => {
  const problem = problemByHand(
    { A: { count: 1, virtual: [2] }, B: { count: 1 }, C: { count: 1 } },
    [MODEL],
    { maxPartitions: 2, wholeGpusPer: 'position', linkThroughput: false },
  );
  const set = enumerateColumns(modelTable(problem, 0), problem.planner, { limit: 100 }) as ColumnSet;
  const grid = gridOf([1, 1, 1], 2, 1) as Grid;
  // One GPU of each serves 2000 requests per second; A is what is scarce.
  const options = { pool: false, gpuPrices: [2000, 0, 0], budget: 500 };
  const models = [new ModelGrid(grid, set, options)];
  /** Takes the state with the most that the tables say. */
  const divide = ([table]: readonly WholeGpuTable[]): Division => {
    const value = Math.max(...table!.rps);
    return { value, states: [table!.rps.indexOf(value)] };
  };
  const goal = {
    divide,
    isBetter: (value: number) => value > 1000,
    known: 1000,
    rps: () => undefined,
    stop: () => false,
  };

  test('finds the columns that fill the positions, and that nothing is better', () => {
    const found = dividePositions(models, { ...goal, available: [1, 1, 1], maxNodes: 1e6 });
    expect(found.bound).toBeCloseTo(2000, 6);
    expect(found.used?.reduce((sum, one) => sum + usedRps(one), 0)).toBeCloseTo(2000, 6);
    expect(found.used).toHaveLength(2);
    expect(found.nodes).toBeGreaterThan(0);
    const given = dividePositions(models, { ...goal, rps: () => 1500, available: [1, 1, 1], maxNodes: 1e6 });
    expect(given.used).toHaveLength(2);
  });

  test('corrects figures that no positions reach, and then knows the bound', () => {
    // The tables are told that all GPUs serve 3000, of which the search over positions finds 2000.
    const seen: number[] = [];
    const tooGood = (tables: readonly WholeGpuTable[]): Division => {
      const table = tables[0]!;
      if (seen.length === 0) table.rps[table.states - 1] = 3000;
      seen.push(Math.max(...table.rps));
      return divide(tables);
    };
    const found = dividePositions(models, { ...goal, divide: tooGood, available: [1, 1, 1], maxNodes: 1e6 });
    expect(seen).toEqual([3000, expect.closeTo(2000, 6)]);
    expect(found.bound).toBeCloseTo(2000, 6);
    // Where nothing better is left, the plan that is known is the best.
    const known = dividePositions(models, {
      ...goal,
      isBetter: () => false,
      available: [1, 1, 1],
      maxNodes: 1e6,
    });
    expect(known).toEqual({ used: undefined, bound: 1000, nodes: 0 });
  });

  test('knows what it has proved where it ends early', () => {
    const none = dividePositions(models, {
      ...goal,
      divide: () => undefined,
      available: [1, 1, 1],
      maxNodes: 1e6,
    });
    expect(none).toEqual({ used: undefined, bound: undefined, nodes: 0 });
    const short = dividePositions(models, { ...goal, available: [1, 1, 1], maxNodes: 0 });
    expect(short.used).toBeUndefined();
    expect(short.bound).toBeCloseTo(2000, 6);
    expect(short.nodes).toBe(1);
  });

  test('searches no GPUs for a model that is given none', () => {
    const divideAll = (tables: readonly WholeGpuTable[]): Division => ({
      value: 2000,
      states: [tables[0]!.states - 1, 0],
    });
    const found = dividePositions([...models, ...models], {
      ...goal,
      divide: divideAll,
      available: [1, 1, 1],
      maxNodes: 1e6,
    });
    expect(found.used).toHaveLength(2);
    expect(found.bound).toBe(2000);
  });

  test('finds nothing on GPUs that cannot serve what a model asks for', () => {
    const values: number[] = [];
    const divideOnce = (tables: readonly WholeGpuTable[]): Division => {
      const table = tables[0]!;
      values.push(table.rps[table.states - 1]!);
      return { value: values.length === 1 ? 2000 : 0, states: [table.states - 1] };
    };
    const asked = { ...goal, divide: divideOnce, rps: () => 5000 };
    expect(dividePositions(models, { ...asked, available: [1, 1, 1], maxNodes: 1e6 })).toMatchObject({
      used: undefined,
      bound: 1000,
    });
    expect(values).toEqual([expect.closeTo(2000, 6), 0]);
  });

  test('searches the GPUs of a model once, and knows them from then on', () => {
    let rounds = 0;
    const all = (tables: readonly WholeGpuTable[]): Division => {
      rounds++;
      return { value: 3000, states: [tables[0]!.states - 1] };
    };
    const found = dividePositions(models, { ...goal, divide: all, available: [1, 1, 1], maxNodes: 1e6 });
    expect(rounds).toBe(2);
    expect(found.bound).toBe(3000);
    expect(found.used).toHaveLength(2);
  });
});
