import { beforeEach, describe, expect, test, vi } from 'vitest';
import { loadHighs, type SolverOptions } from '../../src/lp/highs.js';
import { LinearModel } from '../../src/lp/linear-model.js';

/** What the solver's package is made to do: how a run ends, and what it then knows. */
interface Scripted {
  status: string;
  /** The calls that the run makes back, by callback. */
  calls: (back: Record<string, (event: object) => void>) => void;
  incumbent: boolean;
  duals: boolean;
  values: number[];
  nodes: number;
  bound: number;
}

const FEASIBLE = 2;

const solver = vi.hoisted(() => ({
  script: {} as Scripted,
  options: [] as Record<string, unknown>[],
  started: [] as object[],
  disposed: 0,
}));

vi.mock('highs', () => {
  const info: Record<string, () => unknown> = {
    primal_solution_status: () => (solver.script.incumbent ? FEASIBLE : 0),
    dual_solution_status: () => (solver.script.duals ? FEASIBLE : 0),
    mip_dual_bound: () => solver.script.bound,
    mip_node_count: () => solver.script.nodes,
  };
  const native = {
    options: { set: (options: Record<string, unknown>) => solver.options.push(options) },
    info: { get: (name: string) => info[name]?.() },
    zeroAllClocks: () => undefined,
    setSolution: (solution: object) => solver.started.push(solution),
    run: (back: Record<string, (event: object) => void>) => {
      solver.script.calls(back);
      return { modelStatus: solver.script.status };
    },
    getSolution: () => ({
      colValue: Float64Array.from(solver.script.values),
      rowDual: Float64Array.of(0.5),
    }),
    getObjectiveValue: () => 5,
    dispose: () => {
      solver.disposed += 1;
    },
  };
  const named = new Proxy({}, { get: (_, name) => name });
  const constants = {
    modelStatus: named,
    callbackType: named,
    variableType: named,
    objectiveSense: named,
    solutionStatus: { feasible: FEASIBLE },
  };
  const highs = { version: { string: '0' }, constants, createModel: () => native };
  return { default: async () => highs };
});

/** A run that ends well and calls nothing back. */
const GOOD: Scripted = {
  status: 'optimal',
  calls: () => undefined,
  incumbent: true,
  duals: true,
  values: [2],
  nodes: 3,
  bound: 7,
};

beforeEach(() => {
  Object.assign(solver, { options: [], started: [], disposed: 0 });
});

/** x is at most 4, and at least 0. */
function small(integer: boolean): LinearModel {
  const model = new LinearModel();
  const x = model.addVariable('x', { integer });
  model.addConstraint('most', [[x, 1]], { upper: 4 });
  model.addObjective('maximize', [[x, 1]]);
  return model;
}

async function solved(integer: boolean, script: Partial<Scripted>, options: SolverOptions = {}) {
  solver.script = { ...GOOD, ...script };
  return (await loadHighs()).solve(small(integer), options);
}

describe('HighsEngine names the end of a solve', () => {
  test.each([
    ['timeLimit', 'time'],
    ['iterationLimit', 'iterations'],
    ['solutionLimit', 'nodes'],
    ['interrupted', 'interrupted'],
    ['objectiveBound', 'target'],
    ['objectiveTarget', 'target'],
  ])('at %s, with the best solution of a MIP and none of an LP', async (status, limit) => {
    expect(await solved(true, { status })).toEqual({
      status: 'feasible',
      limit,
      objective: 5,
      bound: 7,
      values: Float64Array.of(2),
      nodes: 3,
    });
    expect(await solved(true, { status, incumbent: false })).toEqual({ status: 'stopped', limit, nodes: 3 });
    expect(await solved(false, { status, incumbent: true })).toEqual({ status: 'stopped', limit, nodes: 0 });
  });

  test.each([
    ['infeasible', 'infeasible'],
    ['unbounded', 'unbounded'],
    ['unboundedOrInfeasible', 'unbounded-or-infeasible'],
  ])('at %s', async (status, named) => {
    expect(await solved(true, { status })).toEqual({ status: named });
  });

  test('with the bound of a MIP, and the prices of an LP where it has some', async () => {
    const mip = await solved(true, { nodes: -1 });
    expect(mip).toEqual({
      status: 'optimal',
      objective: 5,
      bound: 7,
      values: Float64Array.of(2),
      nodes: 0,
    });
    const lp = { status: 'optimal', objective: 5, bound: 5, values: Float64Array.of(2), nodes: 0 };
    expect(await solved(false, {})).toEqual({ ...lp, rowDuals: Float64Array.of(0.5) });
    expect(await solved(false, { duals: false })).toEqual(lp);
    // A model without rows or variables is solved too.
    expect(await solved(false, { status: 'empty', duals: false })).toEqual(lp);
  });

  test('without a bound where the solver was stopped before it had one', async () => {
    for (const bound of [Infinity, -Infinity, Number.NaN])
      expect(await solved(true, { status: 'interrupted', bound })).toEqual({
        status: 'feasible',
        limit: 'interrupted',
        objective: 5,
        values: Float64Array.of(2),
        nodes: 3,
      });
    // An optimum is its own bound.
    expect(await solved(true, { bound: Infinity })).toMatchObject({ status: 'optimal', bound: 5 });
  });

  test('as a failure, at an end that we do not know or an exception', async () => {
    const odd = await solved(true, { status: 'memoryLimit' });
    expect(odd).toEqual({ status: 'failed', message: 'HiGHS ended with status memoryLimit' });
    const calls = () => {
      throw new Error('out of memory');
    };
    expect(await solved(true, { calls })).toEqual({ status: 'failed', message: 'out of memory' });
    expect(solver.disposed).toBe(2);
  });

  test('as a failure where the solution breaks the model', async () => {
    expect(await solved(true, { values: [5.5] })).toEqual({
      status: 'failed',
      message: "the solver's solution breaks x integer by 0.5, most by 1.5",
    });
    const atLimit = await solved(true, { status: 'timeLimit', values: [5] });
    expect(atLimit).toEqual({ status: 'failed', message: "the solver's solution breaks most by 1" });
    expect((await solved(false, { values: [4 + 3e-5] })).status).toBe('optimal');
    expect((await solved(false, { values: [4 + 6e-5] })).status).toBe('failed');
    expect((await solved(true, { status: 'timeLimit', incumbent: false, values: [5] })).status).toBe(
      'stopped',
    );
  });
});

describe('HighsEngine hands on what it is asked', () => {
  test('as options of the solver, with no limit where none is given', async () => {
    await solved(true, {});
    const unlimited = {
      mip_rel_gap: 0,
      mip_abs_gap: 0,
      mip_feasibility_tolerance: 1e-7,
      mip_max_nodes: 2147483647,
      simplex_iteration_limit: 2147483647,
      time_limit: 1e17,
      solve_relaxation: false,
    };
    expect(solver.options).toEqual([{ output_flag: false, random_seed: 1 }, unlimited]);
    expect(solver.started).toEqual([]);
    const asked = { gap: 0.1, maxNodes: 5, maxIterations: 6, maxSeconds: 7, relaxed: true, start: [1] };
    await solved(true, {}, asked);
    expect(solver.options.at(-1)).toEqual({
      ...unlimited,
      mip_rel_gap: 0.1,
      mip_max_nodes: 5,
      simplex_iteration_limit: 6,
      time_limit: 7,
      solve_relaxation: true,
    });
    expect(solver.started).toEqual([{ colValue: Float64Array.of(1) }]);
  });

  test('as callbacks: interruptions of MIPs and LPs, and checkpoints of MIPs only', async () => {
    const seen: string[][] = [];
    const calls: Scripted['calls'] = (back) => seen.push(Object.keys(back).sort());
    await solved(true, { calls });
    await solved(true, { calls }, { maxCheckpoints: 5 });
    await solved(true, { calls }, { interrupted: () => false });
    await solved(true, { calls }, { onProgress: () => undefined });
    expect(seen).toEqual([[], ['mipInterrupt'], ['mipInterrupt', 'simplexInterrupt'], ['mipLogging']]);
  });

  test('and ends at the first checkpoint behind those allowed, or when it is interrupted', async () => {
    const stops = async (options: SolverOptions) => {
      let interrupts = 0;
      const passed: number[] = [];
      const calls: Scripted['calls'] = (back) => {
        for (let i = 0; i < 4; i++) {
          back.mipInterrupt?.({ interrupt: () => interrupts++ });
          passed.push(interrupts);
        }
      };
      await solved(true, { calls }, options);
      return passed;
    };
    expect(await stops({ maxCheckpoints: 2 })).toEqual([0, 0, 1, 2]);
    let asked = 0;
    expect(await stops({ interrupted: () => ++asked > 1 })).toEqual([0, 1, 2, 3]);
  });

  test('and reports a value and a bound once it knows both', async () => {
    const told: number[][] = [];
    const calls: Scripted['calls'] = (back) => {
      for (const [value, bound] of [
        [Infinity, 9],
        [3, -Infinity],
        [4, 8],
      ])
        back.mipLogging?.({ data: { mip_primal_bound: value, mip_dual_bound: bound } });
    };
    await solved(true, { calls }, { onProgress: (value, bound) => told.push([value, bound]) });
    expect(told).toEqual([[4, 8]]);
  });
});
