import { afterEach, describe, expect, it } from 'vitest';
// The thread is not exported by the room. Nothing else shows that its solver is kept.
import { SolverThread } from '../../../src/api/solve/solve-thread.js';
import { InputError } from '../../../src/artifacts/index.js';
import type { PooledProblem } from '../../../src/milp/index.js';
import { randomProblem } from '../../milp/random-problem.js';

const PROBLEM = randomProblem(4, { classes: 2, blocks: 3, batches: 2, virtual: [1], models: 1, mostGpus: 3 });

let thread: SolverThread | undefined;
afterEach(() => thread?.close());

describe('SolverThread', () => {
  it('takes one job after another and gives the same answers each time', async () => {
    thread = new SolverThread();
    const first = await thread.run({ kind: 'plan', problem: PROBLEM });
    const again = await thread.run({ kind: 'plan', problem: PROBLEM });
    expect(first.status).toBe('optimal');
    expect({ ...again, solver: undefined }).toEqual({ ...first, solver: undefined });
  });

  it('passes on refusals and errors of the planner, and takes the next job', async () => {
    thread = new SolverThread();
    const priced: PooledProblem = { ...PROBLEM, planner: { ...PROBLEM.planner, objective: 'cost' } };
    const refused = thread.run({ kind: 'baseline', baseline: 'dart-r', problem: priced });
    await expect(refused).rejects.toThrow(InputError);
    const broken = { ...PROBLEM, models: undefined } as unknown as PooledProblem;
    await expect(thread.run({ kind: 'plan', problem: broken })).rejects.toThrow(/undefined/);
    expect(await thread.run({ kind: 'plan', problem: PROBLEM })).toMatchObject({ status: 'optimal' });
  });

  it('ends the running job with an error when it is closed', async () => {
    thread = new SolverThread();
    const job = thread.run({ kind: 'plan', problem: PROBLEM });
    const told = expect(job).rejects.toThrow('the solver thread ended without an answer');
    await thread.close();
    await told;
    await expect(thread.run({ kind: 'plan', problem: PROBLEM })).rejects.toThrow('ended without an answer');
  });

  it('ends its jobs with what they have after its signal is aborted', async () => {
    const abort = new AbortController();
    thread = new SolverThread(abort.signal);
    const solved = await thread.run({ kind: 'plan', problem: PROBLEM });
    if (!('plan' in solved)) throw new Error('no plan');
    abort.abort();
    const explained = await thread.run({ kind: 'explain', problem: PROBLEM, plan: solved.plan });
    expect(explained).toEqual({ complete: false, classes: [], models: [] });
  });
});
