import { describe, expect, it } from 'vitest';
import { planTopologyOf } from '../../../src/plans/index.js';
import {
  StageLocalCore,
  type StageLocalPolicy,
  type StageTopology,
  type VirtualDevice,
} from '../../../src/serving/index.js';
import { PARD_POLICIES } from '../../../src/serving/stage-local/pard-policies.js';
import { DEFAULT_POLICY } from '../../../src/serving/stage-local/policy.js';
import { gearPlan } from '../../gear-plans.js';
import { chainOf, MS, stage } from '../by-hand.js';
import { comes, due, Told, up } from '../told.js';
import { runVirtual, STREAMS } from '../virtual-driver.js';

const NANO = 1e-6;

const told = (topology: StageTopology, policy: Partial<StageLocalPolicy>) =>
  new Told(
    (decisions) =>
      new StageLocalCore(topology, decisions, { ...PARD_POLICIES.naive, streams: STREAMS, ...policy }),
  );

/** twoEntries has two stages that each request enters, served by one device. */
function twoEntries(sloMs: number): StageTopology {
  const topology = chainOf(sloMs, stage([10]), stage([10]));
  const device = topology.devices[0] as VirtualDevice;
  for (const pool of topology.pools) {
    pool.edges = [];
    pool.devices.splice(0, Infinity, 0);
    pool.transferNs.fill(0);
  }
  device.otherPools = [1];
  return { ...topology, devices: [device], routes: { kind: 'dag' } };
}

describe('QueueService', () => {
  for (const placement of ['on-arrival', 'per-device'] as const)
    it(`counts a batch of late tasks as the turn of its queue, with placement=${placement}`, () => {
      const base = placement === 'per-device' ? PARD_POLICIES.naive : DEFAULT_POLICY;
      const { executed } = runVirtual({
        topology: twoEntries(5),
        // The first is hopeless when it comes, and is served in the background; the second comes meanwhile.
        arrivals: [{ at: 0 }, { at: 1 * MS, deadline: 1000 * MS }],
        policy: {
          ...base,
          drop: { kind: 'hopeless' },
          sharing: { kind: 'round-robin' },
          late: { kind: 'background', patience: 100, mostMissed: 1, window: 8 },
        },
      });
      expect(executed.map(({ pool }) => pool)).toEqual([0, 1, 0, 1]);
    });

  it('wakes for who is lost first of those that wait for a device, whichever would be served first', () => {
    const drop = { ...PARD_POLICIES.pard.drop, queueing: false, wait: 'none' } as const;
    for (const order of ['latest-deadline', 'deadline'] as const) {
      const one = told(chainOf(2000, stage([10])), { drop, order: { kind: order } });
      expect(one.at(0, comes(900), comes(100))).toEqual([`wake ${90 + NANO}`]);
      expect(one.at(90 + NANO, due)[0]).toBe('drop 1 device-down at 0');
    }
  });

  it('keeps a gear for higher loads while what a burst has left waits before any placement', () => {
    const topology = planTopologyOf(
      gearPlan({
        latencyUs: [[50_000], [50_000]],
        held: [[0, 1]],
        intervalMs: 100,
        alpha: 8,
        sloMs: 10_000,
        gears: [
          { toRps: 50, steps: [{ model: 0 }] },
          { toRps: 1e4, steps: [{ model: 1 }] },
        ],
      }),
      { transfers: 'none' },
    );
    for (const policy of [{}, { placement: 'on-arrival', formation: { kind: 'gear' } }] as const) {
      // No device is up: all but the first few wait before the model of the gear in force, and nothing comes afterwards.
      const busy = told(topology, policy);
      const first = busy.at(0, ...Array.from({ length: 20 }, () => comes(9000)));
      // A gear that comes into force is written as a time in nanoseconds.
      expect(first).toContain(`wake ${NANO}`);
      expect(busy.at(250, due)).not.toContain('wake 0');
    }
  });

  it('shares the state before it hears that a device is up', () => {
    // One device serves 100 a second, of which 150 came in the first. The second device comes up at the end of it.
    const topology = chainOf(100_000, stage([10], { virtualGpus: 2 }));
    const one = told(topology, { order: { kind: 'adaptive', transition: 'instant' } });
    one.at(0, up(0), ...Array.from({ length: 150 }, () => comes(90_000)));
    one.at(1000, up(1));
    expect(one.core.planner?.loadFactor(0)).toBe(1.5);
  });
});
