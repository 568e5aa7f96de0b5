import { describe, expect, it } from 'vitest';
import { InputError } from '../../src/artifacts/index.js';
import { liveScheduler } from '../../src/runtime/scheduler.js';
import { topologyOf } from '../../src/serving/index.js';
import { planOf } from '../serving/plans.js';

const topologyWith = (...slosMs: number[]) => {
  const parts = [{ batch: 1, latencyUs: () => 500 }];
  const models = slosMs.map((sloMs) => ({ sloMs, pipelines: [{ throughputRps: 1, parts }] }));
  return topologyOf(planOf(models), { transfers: 'none' });
};

describe('liveScheduler()', () => {
  it('is stage-local unless another scheduler is named', () => {
    expect(liveScheduler({}, topologyWith(200)).name).toBe('stage-local');
    for (const scheduler of ['stage-local', 'reservation', 'fifo', 'reactive'])
      expect(liveScheduler({ scheduler }, topologyWith(200)).name).toBe(scheduler);
  });

  it('keeps as slack a fiftieth of the shortest SLO, at most 3 ms', () => {
    const slackNs = (...slosMs: number[]) => liveScheduler({}, topologyWith(...slosMs)).policy.slackNs;
    expect([slackNs(100, 50), slackNs(50, 100), slackNs(400)]).toEqual([1e6, 1e6, 3e6]);
  });

  it('keeps the slack that is asked for, and none under reservations', () => {
    const topology = topologyWith(100);
    expect(liveScheduler({ policy: ['slackNs=7'] }, topology).policy.slackNs).toBe(7);
    expect(liveScheduler({ scheduler: 'reservation' }, topology).policy).not.toHaveProperty('slackNs');
  });

  it('refuses the reservation tables that only replay the published simulator', () => {
    expect(() =>
      liveScheduler({ scheduler: 'reservation', policy: ['tables=busy-until'] }, topologyWith(100)),
    ).toThrow('reservation with tables=busy-until replays the published simulator, and is only simulated');
  });

  it('applies --policy choices, and reports all wrong choices in one error', () => {
    const topology = topologyWith(100);
    expect(liveScheduler({ policy: ['drop=never'] }, topology).policy.drop).toEqual({ kind: 'never' });
    const wrong = () => liveScheduler({ policy: ['drop=x', 'speed=2'] }, topology);
    expect(wrong).toThrow(InputError);
    expect(wrong).toThrow(/there is no x[\s\S]*there is no speed/);
    expect(() => liveScheduler({ scheduler: 'best' }, topology)).toThrow(
      'is "best"; valid values are reservation',
    );
  });
});
