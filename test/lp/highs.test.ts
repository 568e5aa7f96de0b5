import { beforeAll, describe, expect, test } from 'vitest';
import { type HighsEngine, loadHighs } from '../../src/lp/highs.js';
import { LinearModel } from '../../src/lp/linear-model.js';
import { inWholeRun } from '../cases.js';

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

/** grows has no largest x: only a lower bound holds it. */
function grows(integer: boolean): LinearModel {
  const model = new LinearModel();
  const x = model.addVariable('x', { integer });
  model.addConstraint('least', [[x, 1]], { lower: 1 });
  model.addObjective('maximize', [[x, 1]]);
  return model;
}

/** halves asks twice a whole number to be odd, which no whole number is, while y may grow. */
function halves(): LinearModel {
  const model = new LinearModel();
  const x = model.addVariable('x', { integer: true });
  const y = model.addVariable('y', { integer: true });
  model.addConstraint('odd', [[x, 2]], { lower: 1, upper: 1 });
  model.addObjective('maximize', [[y, 1]]);
  return model;
}

/** knapsack has many items that hardly differ, so that its search takes more than a moment. */
function knapsack(items: number): LinearModel {
  const model = new LinearModel();
  const all = Array.from({ length: items }, (_, i) =>
    model.addVariable(`item ${i}`, { integer: true, upper: 1 }),
  );
  const weight = (i: number) => 1000 + ((i * 7919) % 613);
  model.addConstraint(
    'room',
    all.map((one, i) => [one, weight(i)] as const),
    {
      upper: Math.floor((all.reduce((sum, _, i) => sum + weight(i), 0) * 3) / 7),
    },
  );
  model.addObjective(
    'maximize',
    all.map((one, i) => [one, weight(i) + ((i * 31) % 17)] as const),
  );
  return model;
}

describe('HighsEngine', () => {
  test('tells what has no end from what has no solution', () => {
    expect(highs.solve(grows(false))).toEqual({ status: 'unbounded' });
    expect(['unbounded', 'unbounded-or-infeasible']).toContain(highs.solve(grows(true)).status);
    expect(highs.solve(halves())).toEqual({ status: 'infeasible' });
  });

  inWholeRun('gives an optimum with a bound that no solution is above', () => {
    const solved = highs.solve(knapsack(12));
    expect(solved.status).toBe('optimal');
    if (solved.status !== 'optimal') return;
    const { objective, bound } = solved;
    expect(bound).toBeGreaterThanOrEqual(objective * (1 - 1e-9));
    expect(bound).toBeLessThanOrEqual(objective * (1 + 1e-6));
  });

  test('gives a bound that is a number, or none, wherever a search is stopped', () => {
    const [items, seen] = [40, new Set<string>()];
    const start = new Array(items).fill(0);
    for (let maxCheckpoints = 0; maxCheckpoints < 8; maxCheckpoints++) {
      const solved = highs.solve(knapsack(items), { start, maxCheckpoints });
      seen.add(solved.status);
      if (solved.status !== 'feasible') continue;
      seen.add('bound' in solved ? 'with a bound' : 'without');
      if (solved.bound === undefined) expect(solved).not.toHaveProperty('bound');
      else expect(Number.isFinite(solved.bound) && solved.bound >= solved.objective).toBe(true);
    }
    expect(seen).toContain('without');
  });
});
