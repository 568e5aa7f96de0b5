import { describe, expect, it } from 'vitest';
import { ranWorkflows, type WorkflowSetup } from '../../../src/simulation/workflow/workflow-run.js';
import { inWholeRun } from '../../cases.js';
import { madePlan } from '../../plans/workflow/made-workflows.js';

function setupOf(): WorkflowSetup {
  const plan = madePlan();
  return {
    plan,
    scheduler: 'greedy',
    policies: {},
    seed: 1,
    exact: true,
    workload: { kind: 'drawn', process: 'poisson', durationNs: 10e9, rps: [15, 5] },
    sources: plan.workflows.map(({ name, chain }) => ({ name, chain: chain! })),
  };
}

describe('ranWorkflows()', () => {
  it('serves those to their end that came before it was interrupted, and gives rates over the time until then', () => {
    let looks = 0;
    const cut = ranWorkflows(setupOf(), {}, { interrupted: () => ++looks === 3 });
    const whole = ranWorkflows(setupOf(), {});
    expect([cut.complete, whole.complete]).toEqual([false, true]);
    const { arrived, inTime, late, offeredRps } = cut.figures.overall;
    // It looks after every 16 requests.
    expect(arrived).toBe(47);
    expect(inTime + late).toBe(arrived);
    expect(arrived / offeredRps).toBeLessThan(10);
    expect(whole.figures.overall.arrived / whole.figures.overall.offeredRps).toBeCloseTo(10, 9);
  });

  inWholeRun('takes the scheduler and seed of a job in place of those of the setup', () => {
    const setup = setupOf();
    const run = ranWorkflows(setup, { scheduler: 'dyorc', seed: 2 });
    expect(run).toEqual(ranWorkflows({ ...setup, scheduler: 'dyorc', seed: 2 }, {}));
    expect(run.guesses).toBeDefined();
    expect(ranWorkflows(setup, {}).guesses).toBeUndefined();
  });
});
