import { beforeAll, describe, expect, test } from 'vitest';
import { randomProblem, type Shape } from '../../../../bench/refute/pooled/random-problem.js';
import type { SolveOutcome, SolverOptions } from '../../../../src/lp/highs.js';
import { type HighsEngine, loadHighs } from '../../../../src/lp/index.js';
import type { PlanOptions, PlanProgress } from '../../../../src/milp/index.js';
import { milpPlan } from '../../../../src/milp/integer/column-milp/column-milp.js';
import { gridColumns } from '../../../../src/milp/integer/grid-search/grid-columns.js';
import { gridPlan } from '../../../../src/milp/integer/grid-search/grid-search.js';
import { cases } from '../../../cases.js';
import { problemByHand } from '../../by-hand.js';
import { searchFor, TWO_CLASSES } from '../search-by-hand.js';

let highs: HighsEngine;
beforeAll(async () => {
  highs = await loadHighs();
});

const DEVICES = { A: { count: 4, hourlyCost: 3 }, B: { count: 4, hourlyCost: 2 } };

function milp(rps: number | undefined, options: Partial<PlanOptions> = {}) {
  const model = rps === undefined ? TWO_CLASSES : { ...TWO_CLASSES, rps };
  const objective = rps === undefined ? ('throughput' as const) : ('cost' as const);
  const problem = problemByHand(DEVICES, [model], { objective, maxPartitions: 1 });
  const search = searchFor(problem, highs);
  return milpPlan({ ...search, options: { highs, gap: 0, ...options } }, search.master.bound);
}

/** An engine that comes to these ends, one after another; `solve` is what HiGHS comes to. */
function ending(outcomes: readonly (SolveOutcome | 'solve')[]) {
  const asked: SolverOptions[] = [];
  const engine: HighsEngine = {
    ...highs,
    solve: (model, options = {}) => {
      const end = outcomes[Math.min(asked.length, outcomes.length - 1)] as SolveOutcome | 'solve';
      asked.push(options);
      return end === 'solve' ? highs.solve(model, options) : end;
    },
  };
  return { engine, asked };
}

const STOPPED: SolveOutcome = { status: 'stopped', limit: 'nodes', nodes: 1 };

/** The variables of a price are the rates on A and B, and then the GPUs of both. */
function solution(status: 'optimal' | 'feasible', gpus: readonly number[], nodes: number): SolveOutcome {
  const found = { objective: 1, bound: 1, values: Float64Array.of(1, 1, ...gpus), nodes };
  return status === 'optimal' ? { status, ...found } : { status, ...found, limit: 'nodes' };
}

describe('milpPlan()', () => {
  test('finds the best plan and proves it, where all columns take part', () => {
    expect(milp(undefined)).toMatchObject({
      value: expect.closeTo(5600, 6),
      bound: expect.closeTo(5600, 3),
      tolerance: 1e-6,
      ended: true,
    });
    expect(milp(1400)).toMatchObject({ value: 5, bound: expect.closeTo(5, 5) });
    expect(milp(1401)).toMatchObject({ value: 6 });
    expect(milp(5600)).toMatchObject({ value: 20 });
  });

  test('finds what the tables over amounts of GPUs find', () => {
    const shape: Shape = { classes: 2, blocks: 2, batches: 1, virtual: [1], models: 2, mostGpus: 2 };
    const rule = { pool: true, shared: false };
    for (let seed = 1; seed <= cases(2, 20); seed++)
      for (const objective of ['throughput', 'cost'] as const) {
        const search = searchFor(randomProblem(seed, shape, { maxPartitions: 2, objective }), highs, {
          gap: 0,
        });
        const exact = gridPlan(search, gridColumns(search).sets, { rule })!;
        if (exact.used.length === 0) continue;
        const found = milpPlan(search, search.master.bound);
        if (found === undefined || found === 'infeasible') throw new Error(`seed ${seed}: ${found}`);
        // Both are 0 where the GPUs are too few to serve every model.
        const isSame = Object.is(found.value, exact.value);
        const isNear = Math.abs(found.value - exact.value) <= 1e-5 * exact.value;
        expect({ seed, objective, agree: isSame || isNear }).toEqual({ seed, objective, agree: true });
      }
  });

  test('says that there is no plan only where the solver has proved it for all columns', () => {
    expect(milp(5601)).toBe('infeasible');
    const ends = (outcome: SolveOutcome) => milp(1400, { highs: ending([outcome]).engine });
    expect(ends({ status: 'infeasible' })).toBe('infeasible');
    expect(ends(STOPPED)).toBeUndefined();
    expect(ends({ status: 'failed', message: 'out of memory' })).toBeUndefined();
  });

  test('asks once more where the tolerance of the solver left the rates a little short', () => {
    // One of each serves 1400 and not 1400.001; so two of A are needed, for 6.
    const short = solution('optimal', [1, 1], 2);
    const { engine, asked } = ending([short, 'solve']);
    const found = milp(1400.001, { highs: engine, work: 100 });
    if (found === undefined || found === 'infeasible') throw new Error(found);
    expect(found).toMatchObject({ value: 6 });
    expect(found.nodes).toBeGreaterThanOrEqual(2);
    expect(found).not.toHaveProperty('bound');
    expect(found).not.toHaveProperty('tolerance');
    expect(asked.map(({ maxNodes }) => maxNodes)).toEqual([100, 98]);
    const spent = ending([solution('optimal', [1, 1], 200), 'solve']);
    milp(1400.001, { highs: spent.engine, work: 100 });
    expect(spent.asked[1]?.maxNodes).toBe(1);
    for (const end of [STOPPED, { status: 'infeasible' } as const, short])
      expect(milp(1400.001, { highs: ending([short, end]).engine })).toBeUndefined();
    // Plans that meet the rates are taken as they are.
    const enough = ending([short]);
    expect(milp(1400, { highs: enough.engine })).toMatchObject({ value: 5 });
    expect(enough.asked).toHaveLength(1);
  });

  test('serves as much as it can, whatever rates are named besides', () => {
    const problem = problemByHand(DEVICES, [{ ...TWO_CLASSES, rps: 1e6 }], { maxPartitions: 1 });
    const search = searchFor(problem, highs, { gap: 0 });
    expect(milpPlan(search, search.master.bound)).toMatchObject({ value: expect.closeTo(5600, 6) });
  });

  test('hands on the gap, the work, the time that is left and the interruption', () => {
    const { engine, asked } = ending([STOPPED]);
    const interrupted = () => false;
    milp(1400, { highs: engine, gap: 0.1, work: 7, timeLimitMs: 5000, interrupted });
    expect(asked).toEqual([{ gap: 0.025, maxNodes: 7, maxCheckpoints: 5350, maxSeconds: 5, interrupted }]);
    milp(1400, { highs: engine });
    expect(asked[1]).toEqual({ gap: 0, maxNodes: 2000, maxCheckpoints: 105_000 });
    const nothing = ending([STOPPED]);
    expect(milp(1400, { highs: nothing.engine, work: 0.5 })).toBeUndefined();
    expect(milp(1400, { highs: nothing.engine, interrupted: () => true })).toBeUndefined();
    expect(nothing.asked).toEqual([]);
  });

  test('reports better plans in the unit of the objective, with the bound of all plans', () => {
    const told: PlanProgress[] = [];
    const { engine, asked } = ending([STOPPED]);
    milp(1400, { highs: engine, onProgress: (progress) => told.push(progress) });
    asked[0]?.onProgress?.(2, 1);
    // The price of the dearest GPU counts as 1, and 1400 requests per second cost 4.2 in fractions of GPUs.
    expect(told).toEqual([{ phase: 'search', value: 6, bound: expect.closeTo(4.2, 6) }]);
  });
});
