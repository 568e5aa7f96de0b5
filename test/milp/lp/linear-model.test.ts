import { beforeAll, describe, expect, test } from 'vitest';
import { type HighsEngine, loadHighs } from '../../../src/milp/index.js';
import { LinearModel } from '../../../src/milp/lp/linear-model.js';

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/** max 5a + 4b, 6a + 4b ≤ 24, a + 2b ≤ 6: (3, 1.5) → 21; in whole numbers (4, 0) → 20. */
function small(integer: boolean): LinearModel {
  const model = new LinearModel();
  const [a, b] = model.addVariables(['a', 'b'], { integer }) as [number, number];
  model.addConstraint(
    'wood',
    -Infinity,
    [
      [a, 6],
      [b, 4],
    ],
    24,
  );
  model.addConstraint(
    'work',
    -Infinity,
    [
      [a, 1],
      [b, 2],
    ],
    6,
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
      1,
      [
        [0, 1],
        [1, -1],
      ],
      1,
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

  test('names what values break, and by how much', () => {
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

  test('has no objective to read when there is no solution', () => {
    const model = small(true);
    model.addConstraint('too much', 10, [[0, 1]], Infinity);
    expect(highs.solve(model)).toEqual({ status: 'infeasible' });
    const open = new LinearModel();
    open.addObjective('maximize', [[open.addVariable('x'), 1]]);
    expect(highs.solve(open)).toEqual({ status: 'unbounded' });
  });

  test('tells an interruption from an answer', () => {
    const hard = new LinearModel();
    const x = hard.addVariables(
      Array.from({ length: 20 }, (_, i) => `x${i}`),
      { integer: true, upper: 1 },
    );
    const weight = (i: number, k: number) => 20 + ((i * 7919 + k * 104729) % 83);
    for (let k = 0; k < 5; k++)
      hard.addConstraint(
        `row ${k}`,
        -Infinity,
        x.map((v, i) => [v, weight(i, k)] as const),
        300,
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

  test('grows an open model by columns and solves it again', () => {
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
