import { describe, expect, it } from 'vitest';
import { type PlanServing, ToldFaults } from '../../../src/formats/index.js';
import { plannedPolicy, workflowPolicyOf, workflowServingFaults } from '../../../src/plans/index.js';

const faultsOf = (serving: PlanServing): string[] =>
  workflowServingFaults({ serving }).map(({ path, message }) => `${path} ${message}`);

describe('workflowServingFaults()', () => {
  it('reports every choice that a scheduler does not have, and every value that is none, at once', () => {
    expect(
      faultsOf({
        scheduler: 'dyorc',
        policy: {
          drop: 'never',
          dropping: 'hopeless',
          'dropping.quantile': 2,
          moving: 'to-idle',
          sparing: { kind: 'reloads' },
          mostTries: -1,
        },
      }),
    ).toEqual([
      '/serving/policy/drop there is no drop; there are prediction, reserving, dropping, moving, evicting, sparing, spreading, halfLifeNs, mostTasks, mostTries; did you mean dropping?',
      '/serving/policy/dropping there is no hopeless; there are never, expired, end-to-end',
      '/serving/policy/dropping.quantile is 2; it must be at most 1',
      '/serving/policy/sparing lacks "most"',
      '/serving/policy/mostTries is -1; it must be at least 0',
    ]);
  });

  it('refuses what these schedulers do not take, and schedulers that serve no workflows', () => {
    const tuner = { kind: 'inferline' } as const;
    const serving = {
      scheduler: 'dyorc',
      tuner,
      engine: { target: 'triton' },
      priorities: { 1: 2 },
    } as never;
    expect(faultsOf(serving)).toEqual([
      '/serving/tuner changes the replicas of pipelines, and these are workflows',
      '/serving/engine is of triton, which no scheduler of workflows stands for',
      '/serving/priorities weigh requests, which no scheduler of workflows does',
    ]);
    expect(faultsOf({ scheduler: 'dyorc', tuner: { kind: 'none' } })).toEqual([]);
    expect(faultsOf({ scheduler: 'fifo' })).toEqual([
      expect.stringMatching(/^\/serving\/scheduler is fifo, which serves no workflows; valid names are /),
    ]);
    expect(workflowServingFaults({})).toEqual([]);
  });

  it('has fewer choices for schedulers whose tasks wait for devices that hold their component', () => {
    expect(faultsOf({ scheduler: 'static', policy: { mostTasks: 5 } })).toEqual([]);
    expect(faultsOf({ scheduler: 'ray-like', policy: { dropping: 'never' } })).toEqual([
      expect.stringContaining('there is no dropping; there are mostTasks, mostTries'),
    ]);
  });
});

describe('plannedPolicy()', () => {
  const planned: PlanServing = {
    scheduler: 'dyorc',
    policy: {
      moving: 'to-idle',
      'dropping.quantile': 0.25,
      spreading: { kind: 'by-work', least: 1, ratio: 7 },
    },
  };

  it('gives what differs from the policy of the scheduler: the choices of the plan, and then those of the options', () => {
    expect(workflowPolicyOf(planned)).toEqual({
      moving: { kind: 'to-idle' },
      dropping: { kind: 'end-to-end', quantile: 0.25, draws: 32 },
      spreading: { kind: 'by-work', least: 1, ratio: 7 },
    });
    const told = new ToldFaults();
    const given = ['dropping=expired', 'prediction.most=3', 'mostTasks=9'];
    expect(plannedPolicy(planned, { scheduler: 'dyorc', given }, told)).toEqual({
      ...workflowPolicyOf(planned),
      dropping: { kind: 'expired' },
      prediction: { kind: 'sampled', most: 3 },
      mostTasks: 9,
    });
    expect(told.count).toBe(0);
  });

  it('leaves the choices of the plan out under another scheduler', () => {
    const told = new ToldFaults();
    expect(plannedPolicy(planned, { scheduler: 'greedy', given: ['moving=to-idle'] }, told)).toEqual({
      moving: { kind: 'to-idle' },
    });
    expect(plannedPolicy(planned, { scheduler: 'greedy', given: ['dropping.quantile=0.5'] }, told)).toEqual(
      {},
    );
    expect(told.error('serve').faults.map(({ message }) => message)).toEqual([
      'dropping=never takes nothing more',
    ]);
  });
});
