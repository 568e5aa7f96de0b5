import { afterEach, describe, expect, it } from 'vitest';
import { randomProblem } from '../../../bench/refute/pooled/random-problem.js';
import { InputError } from '../../../src/formats/index.js';
import type { PooledProblem } from '../../../src/milp/index.js';
// The pool is not exported by the library, and nothing else shows that its solvers are kept.
import { SolverPool } from '../../../src/specs/pooled/solver-pool.js';
import { threadsNowMs } from '../../../src/specs/threads-clock.js';
import { inWholeRun } from '../../cases.js';

const PROBLEM = randomProblem(4, { classes: 2, blocks: 3, batches: 2, virtual: [1], models: 1, mostGpus: 3 });

let pool: SolverPool | undefined;
afterEach(() => pool?.close());

describe('SolverPool', () => {
  inWholeRun('takes one job after another and gives the same answers each time', async () => {
    pool = new SolverPool();
    const first = await pool.run({ kind: 'plan', problem: PROBLEM });
    const again = await pool.run({ kind: 'plan', problem: PROBLEM });
    expect(first.status).toBe('optimal');
    expect({ ...again, solver: undefined }).toEqual({ ...first, solver: undefined });
  });

  inWholeRun('plans a small problem in this thread as one of its own does', async () => {
    pool = new SolverPool();
    const question = { kind: 'plan', problem: PROBLEM } as const;
    const [here, there] = [await pool.plan(question), await pool.run(question)];
    expect({ ...here, solver: undefined }).toEqual({ ...there, solver: undefined });
  });

  it('passes on refusals and errors of the planner, and takes the next job', async () => {
    pool = new SolverPool();
    const priced: PooledProblem = { ...PROBLEM, planner: { ...PROBLEM.planner, objective: 'cost' } };
    const refused = pool.run({ kind: 'baseline', baseline: 'dart-r', problem: priced });
    await expect(refused).rejects.toThrow(InputError);
    const broken = { ...PROBLEM, models: undefined } as unknown as PooledProblem;
    await expect(pool.run({ kind: 'plan', problem: broken })).rejects.toThrow(/undefined/);
    expect(await pool.run({ kind: 'plan', problem: PROBLEM })).toMatchObject({ status: 'optimal' });
  });

  it('ends the running job with an error when it is closed', async () => {
    pool = new SolverPool();
    const job = pool.run({ kind: 'plan', problem: PROBLEM });
    const told = expect(job).rejects.toThrow('the solver thread ended without an answer');
    await pool.close();
    await told;
    await expect(pool.run({ kind: 'plan', problem: PROBLEM })).rejects.toThrow('ended without an answer');
  });

  inWholeRun('ends a plan by the time that it is given, by the clock of all threads', async () => {
    pool = new SolverPool();
    const shape = { classes: 3, blocks: 12, batches: 4, virtual: [1, 2], models: 3, mostGpus: 40 };
    const job = { kind: 'plan', problem: randomProblem(4, shape) } as const;
    const late = await pool.run({ ...job, endsAtMs: threadsNowMs() });
    expect(late).toMatchObject({ limit: 'time' });
    const early = await pool.run({ ...job, endsAtMs: threadsNowMs() + 1e8 });
    expect('limit' in early && early.limit === 'time').toBe(false);
  });

  it('ends its jobs with what they have found after its signal is aborted', async () => {
    const abort = new AbortController();
    // A busy machine may take longer than the default to hear of it.
    pool = new SolverPool({ signal: abort.signal, graceMs: 60_000 });
    const solved = await pool.run({ kind: 'plan', problem: PROBLEM });
    if (!('plan' in solved)) throw new Error('no plan');
    abort.abort();
    const explained = await pool.run({ kind: 'explain', problem: PROBLEM, plan: solved.plan });
    expect(explained).toEqual({ complete: false, classes: [], models: [] });
  });
});
