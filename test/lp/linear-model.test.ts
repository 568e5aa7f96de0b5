import { beforeAll, describe, expect, test } from 'vitest';
import { type HighsEngine, loadHighs } from '../../src/lp/index.js';
import { LinearModel } from '../../src/lp/linear-model.js';
import { inWholeRun } from '../cases.js';

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/** max 5a + 4b with 6a + 4b ≤ 24 and a + 2b ≤ 6 has the optimum (3, 1.5) → 21, and (4, 0) → 20 in whole numbers. */
function small(integer: boolean): LinearModel {
  const model = new LinearModel();
  const [a, b] = model.addVariables(['a', 'b'], { integer }) as [number, number];
  model.addConstraint(
    'wood',
    [
      [a, 6],
      [b, 4],
    ],
    { upper: 24 },
  );
  model.addConstraint(
    'work',
    [
      [a, 1],
      [b, 2],
    ],
    { upper: 6 },
  );
  model.addObjective('maximize', [
    [a, 5],
    [b, 4],
  ]);
  return model;
}

describe('LinearModel', () => {
  test('prints as text', () => {
    const model = small(true);
    model.addConstraint(
      'both',
      [
        [0, 1],
        [1, -1],
      ],
      { lower: 1, upper: 1 },
    );
    expect(model.toText()).toBe(
      [
        'maximize',
        '  5·a + 4·b',
        'subject to',
        '  wood: 6·a + 4·b ≤ 24',
        '  work: a + 2·b ≤ 6',
        '  both: a - b = 1',
        'where',
        '  0 ≤ a integer',
        '  0 ≤ b integer',
        '',
      ].join('\n'),
    );
  });

  test('prints bounds, signs and an empty objective', () => {
    const model = new LinearModel();
    model.addVariable('free', { lower: -Infinity });
    model.addVariable('some', { lower: 1, upper: 3 });
    model.addVariable('fixed', { lower: 2, upper: 2, integer: true });
    model.addConstraint(
      'row',
      [
        [0, -1],
        [1, 0],
        [2, -2.5],
      ],
      { lower: -1 },
    );
    model.addConstraint('nothing', [], { lower: 0, upper: 4 });
    model.addObjective('minimize', []);
    expect(model.toText().split('\n')).toEqual([
      'minimize',
      '  0',
      'subject to',
      '  row: -1 ≤ - free - 2.5·fixed',
      '  nothing: 0 ≤ 0 ≤ 4',
      'where',
      '  free',
      '  1 ≤ some ≤ 3',
      '  fixed = 2 integer',
      '',
    ]);
  });

  test('keeps the last objective, and gives its value and the smallest coefficient', () => {
    const model = small(false);
    expect(model.smallestCoefficient()).toBe(1);
    expect(model.objectiveOf([2, 3])).toBe(22);
    model.addObjective('minimize', [[1, -0.5]]);
    expect(model.sense).toBe('minimize');
    expect(model.objectiveOf([2, 3])).toBe(-1.5);
    expect(model.smallestCoefficient()).toBe(0.5);
    expect(new LinearModel().smallestCoefficient()).toBe(Infinity);
  });

  test('judges a row by its largest term, and a bound by the value', () => {
    const model = new LinearModel();
    const [x, y] = model.addVariables(['x', 'y'], { lower: 1, upper: 1000 }) as [number, number];
    model.addConstraint(
      'row',
      [
        [x, 1],
        [y, -1],
      ],
      { lower: 0, upper: 0 },
    );
    expect(model.violations([500, 500.004], 1e-5)).toEqual([]);
    expect(model.violations([500, 500.006], 1e-5)).toEqual([
      { name: 'row', amount: expect.closeTo(0.006, 9) },
    ]);
    expect(model.violations([500.006, 500], 1e-5)).toEqual([
      { name: 'row', amount: expect.closeTo(0.006, 9) },
    ]);
    expect(model.violations([1000.009, 1000], 1e-5)).toEqual([]);
    expect(model.violations([1000.02, 1000.02], 1e-5).map(({ name }) => name)).toEqual(['x', 'y']);
    expect(model.violations([0.5, 0.5]).map(({ name, amount }) => [name, amount])).toEqual([
      ['x', 0.5],
      ['y', 0.5],
    ]);
    expect(model.violations([0.9999995, 0.9999995])).toEqual([]);
  });

  test('names the rows and bounds that values break, and by how much', () => {
    expect(small(true).violations([4, 0])).toEqual([]);
    expect(small(true).violations([3, 1.5])).toEqual([{ name: 'b integer', amount: 0.5 }]);
    expect(small(false).violations([4, 1])).toEqual([{ name: 'wood', amount: 4 }]);
    expect(small(false).violations([-1, 0])).toEqual([{ name: 'a', amount: 1 }]);
    expect(small(false).violations([Number.NaN, 0]).length).toBeGreaterThan(0);
  });
});

describe('HighsEngine', () => {
  test('solves an LP with its shadow prices', () => {
    const outcome = highs.solve(small(false));
    if (outcome.status !== 'optimal') throw new Error(outcome.status);
    expect(outcome.objective).toBeCloseTo(21, 9);
    expect(Array.from(outcome.rowDuals ?? [])).toEqual([expect.closeTo(0.75, 9), expect.closeTo(0.5, 9)]);
  });

  test('solves in whole numbers, with a bound and without shadow prices', () => {
    const outcome = highs.solve(small(true));
    if (outcome.status !== 'optimal') throw new Error(outcome.status);
    expect(outcome.objective).toBeCloseTo(20, 9);
    expect(outcome.bound).toBeCloseTo(20, 6);
    expect(outcome.rowDuals).toBeUndefined();
  });

  test('gives no objective where there is no solution', () => {
    const model = small(true);
    model.addConstraint('too much', [[0, 1]], { lower: 10 });
    expect(highs.solve(model)).toEqual({ status: 'infeasible' });
    const open = new LinearModel();
    open.addObjective('maximize', [[open.addVariable('x'), 1]]);
    expect(highs.solve(open)).toEqual({ status: 'unbounded' });
  });

  inWholeRun('distinguishes an interruption from an answer', () => {
    const hard = new LinearModel();
    const x = hard.addVariables(
      Array.from({ length: 20 }, (_, i) => `x${i}`),
      { integer: true, upper: 1 },
    );
    const weight = (i: number, k: number) => 20 + ((i * 7919 + k * 104729) % 83);
    for (let k = 0; k < 5; k++)
      hard.addConstraint(
        `row ${k}`,
        x.map((v, i) => [v, weight(i, k)] as const),
        { upper: 300 },
      );
    hard.addObjective(
      'maximize',
      x.map((v, i) => [v, weight(i, 99)] as const),
    );
    const outcome = highs.solve(hard, { maxNodes: 1 });
    if (outcome.status !== 'feasible' && outcome.status !== 'stopped') throw new Error(outcome.status);
    expect(outcome.limit).toBe('nodes');
    if (outcome.status === 'feasible') expect(outcome.bound).toBeGreaterThanOrEqual(outcome.objective);
  });

  /** A knapsack that is not solved at the root: one variable of its LP is fractional. */
  function knapsack(): LinearModel {
    const model = new LinearModel();
    const x = model.addVariables(
      Array.from({ length: 12 }, (_, i) => `x${i}`),
      { integer: true, upper: 1 },
    );
    const size = (i: number) => 30 + ((i * 7919) % 41);
    model.addConstraint(
      'room',
      x.map((v, i) => [v, size(i)] as const),
      { upper: 200 },
    );
    model.addObjective(
      'maximize',
      x.map((v, i) => [v, size(i) + (i % 3)] as const),
    );
    return model;
  }

  /** The best value over all choices. */
  function bestOf(model: LinearModel): number {
    let best = -Infinity;
    for (let mask = 0; mask < 2 ** 12; mask++) {
      const values = Array.from({ length: 12 }, (_, i) => (mask >> i) & 1);
      if (model.violations(values).length === 0) best = Math.max(best, model.objectiveOf(values));
    }
    return best;
  }

  test('proves the optimum in whole numbers, and bounds it when relaxed', () => {
    const model = knapsack();
    const outcome = highs.solve(model);
    if (outcome.status !== 'optimal') throw new Error(outcome.status);
    expect(outcome.objective).toBeCloseTo(bestOf(model), 6);
    expect(outcome.bound).toBeCloseTo(bestOf(model), 6);
    const relaxed = highs.open(model);
    const loose = relaxed.solve({ relaxed: true });
    relaxed.close();
    if (loose.status !== 'optimal') throw new Error(loose.status);
    expect(loose.objective).toBeGreaterThan(bestOf(model));
    expect(loose.bound).toBe(loose.objective);
    expect(loose.rowDuals).toHaveLength(1);
  });

  test('stops when it is told to, with the solution that it has', () => {
    const model = knapsack();
    for (const options of [{ interrupted: () => true }, { maxCheckpoints: 0 }]) {
      const outcome = highs.solve(model, { ...options, start: new Array(12).fill(0) });
      if (outcome.status !== 'feasible' && outcome.status !== 'stopped') throw new Error(outcome.status);
      expect(outcome.limit).toBe('interrupted');
      if (outcome.status === 'feasible') {
        expect(outcome.bound ?? Infinity).toBeGreaterThanOrEqual(bestOf(model) - 1e-6);
        expect(outcome.objective).toBeLessThanOrEqual(bestOf(model) + 1e-6);
      }
    }
    expect(highs.solve(model, { interrupted: () => false, maxCheckpoints: 1e6 }).status).toBe('optimal');
  });

  test('gives no solution of an LP that it stopped', () => {
    const open = highs.open(small(false));
    expect(open.solve({ maxIterations: 0 })).toEqual({ status: 'stopped', limit: 'iterations', nodes: 0 });
    expect(open.solve().status).toBe('optimal');
    open.close();
  });

  test('solves an open model again with other bounds', () => {
    const open = highs.open(small(false));
    const value = () => {
      const outcome = open.solve();
      return outcome.status === 'optimal' ? outcome.objective : outcome.status;
    };
    expect(value()).toBeCloseTo(21, 9);
    open.setRowBounds(0, -Infinity, 12);
    // 6a + 4b ≤ 12: (0, 3) gives 12, and (2, 0) gives 10.
    expect(value()).toBeCloseTo(12, 9);
    open.setVariableBounds(1, 0, 0);
    expect(value()).toBeCloseTo(10, 9);
    open.setVariableBounds(0, 3, Infinity);
    expect(value()).toBe('infeasible');
    open.addColumns({ costs: [], starts: [], rows: [], coefficients: [] });
    open.close();
  });

  test('adds columns to an open model and solves it again', () => {
    const open = highs.open(small(false));
    open.solve();
    open.addColumns({ costs: [9], starts: [0], rows: [0, 1], coefficients: [6, 1] });
    const outcome = open.solve();
    open.close();
    if (outcome.status !== 'optimal') throw new Error(outcome.status);
    expect(outcome.values[2]).toBeGreaterThan(0);
    expect(outcome.objective).toBeGreaterThan(21);
  });
});
