import { describe, expect, it } from 'vitest';
import { InputError, type PlanServing } from '../../src/formats/index.js';
import { pipelineTopologyOf, topologyOf } from '../../src/plans/index.js';
import { liveScheduler, toldServing } from '../../src/runtime/scheduler.js';
import { pipelineOf } from '../pipeline-plans.js';
import { planOf } from '../serving/plans.js';

const bundleOf = (slosMs: number[], serving?: PlanServing) => {
  const parts = [{ batch: 1, latencyUs: () => 500 }];
  const models = slosMs.map((sloMs) => ({ sloMs, pipelines: [{ throughputRps: 1, parts }] }));
  const plan = { ...planOf(models), ...(serving === undefined ? {} : { serving }) };
  return { plan, topology: topologyOf(plan, { transfers: 'none' }) };
};

describe('liveScheduler()', () => {
  it('is what the plan says, with its choices, unless another scheduler is named', () => {
    const serving = { scheduler: 'fifo', policy: { drop: 'expired', slackNs: 7 } };
    const planned = liveScheduler({}, bundleOf([200], serving));
    expect(planned).toMatchObject({ name: 'fifo', policy: { drop: { kind: 'expired' }, slackNs: 7 } });
    const asked = liveScheduler({ policy: ['drop=hopeless'] }, bundleOf([200], serving));
    expect(asked).toMatchObject({ name: 'fifo', policy: { drop: { kind: 'hopeless' }, slackNs: 7 } });
    const other = liveScheduler({ scheduler: 'stage-local' }, bundleOf([200], serving));
    expect(other).toMatchObject({ policy: { drop: { kind: 'full-batch' }, slackNs: 3e6 } });
  });

  it('is stage-local where neither the plan nor the options name one', () => {
    expect(liveScheduler({}, bundleOf([200])).name).toBe('stage-local');
    for (const scheduler of ['stage-local', 'reservation', 'fifo', 'inferline', 'reactive'])
      expect(liveScheduler({ scheduler }, bundleOf([200])).name).toBe(scheduler);
  });

  it('keeps as slack a fiftieth of the shortest SLO, at most 3 ms', () => {
    const slackNs = (...slosMs: number[]) => liveScheduler({}, bundleOf(slosMs)).policy.slackNs;
    expect([slackNs(100, 50), slackNs(50, 100), slackNs(400)]).toEqual([1e6, 1e6, 3e6]);
  });

  it('keeps the slack that is asked for, and none under reservations', () => {
    const bundle = bundleOf([100]);
    expect(liveScheduler({ policy: ['slackNs=7'] }, bundle).policy.slackNs).toBe(7);
    expect(liveScheduler({ scheduler: 'reservation' }, bundle).policy).not.toHaveProperty('slackNs');
  });

  it('refuses the reservation tables that only replay the published simulator', () => {
    expect(() =>
      liveScheduler({ scheduler: 'reservation', policy: ['tables=busy-until'] }, bundleOf([100])),
    ).toThrow('reservation with tables=busy-until replays the published simulator, and is only simulated');
  });

  it('refuses a schedule of devices of a pool that the plan does not have, and reports a right one in a word', () => {
    const withPool = (pool: string) => {
      const scaling = { schedule: [{ atS: 1, pool, devices: 0 }] };
      return liveScheduler({ policy: [{ at: 'p.yaml ', choices: { scaling } }] }, bundleOf([100]));
    };
    expect(() => withPool('m0/pipeline0/partition9')).toThrow('there is no m0/pipeline0/partition9');
    const chosen = withPool('m0/pipeline0/partition0');
    expect(toldServing(chosen).policy).toMatchObject({ scaling: 'schedule', order: 'deadline' });
  });

  it('has the tuner of a pipeline, on its standby devices alone, and refuses the oracle', () => {
    const plan = pipelineOf([{ name: 'a' }], [['a'], ['a']], {
      serving: { scheduler: 'fifo', tuner: { kind: 'hpa' } },
      rps: 1,
    });
    Object.assign(plan.stages[0]!, { replicas: 1, standby: 1, maxProvisioningRatio: 0.5 });
    plan.placement[1]!.standby = true;
    const bundle = { plan, topology: pipelineTopologyOf(plan) };
    expect(liveScheduler({}, bundle).tuner).toMatchObject({ settings: { kind: 'hpa' }, sets: [{ most: 2 }] });
    expect(liveScheduler({ tuner: 'none' }, bundle)).not.toHaveProperty('tuner');
    expect(() => liveScheduler({ tuner: 'oracle' }, bundle)).toThrow(
      'knows what comes, and is only simulated',
    );
    expect(() => liveScheduler({ tuner: 'hpa' }, bundleOf([100]))).toThrow('this plan is no pipeline');
  });

  it('applies --policy choices, and reports all wrong choices in one error', () => {
    const bundle = bundleOf([100]);
    expect(liveScheduler({ policy: ['drop=never'] }, bundle).policy.drop).toEqual({ kind: 'never' });
    const wrong = () => liveScheduler({ policy: ['drop=x', 'speed=2'] }, bundle);
    expect(wrong).toThrow(InputError);
    expect(wrong).toThrow(/there is no x[\s\S]*there is no speed/);
    expect(() => liveScheduler({ scheduler: 'best' }, bundle)).toThrow(
      'is "best"; valid values are reservation',
    );
  });
});

describe('toldServing()', () => {
  it('says every scheduler so that a plan that names it gives the same scheduler', () => {
    const bundle = bundleOf([100], { scheduler: 'fifo', policy: { slackNs: 9 } });
    const asked = [
      ...['stage-local', 'reservation', 'fifo', 'inferline', 'reactive'].map((scheduler) => ({ scheduler })),
      { policy: ['drop=nearly-full', 'drop.share=0.5', 'drop.spares=last-waited', 'mostTasks=3'] },
      {
        scheduler: 'stage-local',
        policy: ['formation=last-moment', 'formation.leaves=nothing', 'formation.stepNs=9', 'slackNs=11'],
      },
    ];
    for (const options of asked) {
      const chosen = liveScheduler(options, bundle);
      const told = toldServing(chosen);
      expect(liveScheduler({}, bundleOf([50], told))).toEqual(chosen);
      const policy = Object.entries(told.policy).map(([key, value]) => `${key}=${value}`);
      expect(liveScheduler({ scheduler: told.scheduler, policy }, bundle)).toEqual(chosen);
    }
  });
});
