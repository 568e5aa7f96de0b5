import { describe, expect, it } from 'vitest';
import { planTopologyOf } from '../../../../src/plans/index.js';
import { StageLocalCore } from '../../../../src/serving/index.js';
import { ENGINE_POLICIES } from '../../../../src/serving/stage-local/engine-policies.js';
import { PARD_POLICIES } from '../../../../src/serving/stage-local/pard-policies.js';
import { PerDevice, perDeviceQueues } from '../../../../src/serving/stage-local/placing/per-device.js';
import type { SharedState } from '../../../../src/serving/stage-local/shared-state.js';
import { PlanColumns } from '../../../../src/serving/state/index.js';
import { gearPlan } from '../../../gear-plans.js';
import { chainOf, stage } from '../../by-hand.js';
import { comes, ends, Told, up } from '../../told.js';
import { runVirtual, STREAMS } from '../../virtual-driver.js';

const MS = 1e6;

const GEARS = {
  latencyUs: [[50_000], [50_000]],
  held: [[0, 1], [1]],
  intervalMs: 100,
  alpha: 8,
  sloMs: 10_000,
  gears: [
    { toRps: 10, steps: [{ model: 0 }] },
    { toRps: 1e4, steps: [{ model: 1 }] },
  ],
};

describe('PerDevice', () => {
  it('has a queue for each device in each of its pools, and one for each pool', () => {
    expect(perDeviceQueues(chainOf(100, stage([10], { virtualGpus: 2 }), stage([10])))).toBe(3 + 2);
    expect(perDeviceQueues(planTopologyOf(gearPlan(GEARS), { transfers: 'none' }))).toBe(3 + 2);
  });

  it('gives devices that are busy the least when by least work, and counts what they have collected', () => {
    const topology = chainOf(1000, stage([10, 14], { virtualGpus: 2 }));
    const one = new Told(
      (decisions) =>
        new StageLocalCore(topology, decisions, {
          ...PARD_POLICIES.naive,
          streams: STREAMS,
          dispatch: { kind: 'least-work' },
        }),
    );
    const run = one.at(0, up(0, 1), comes(900), comes(900), comes(900));
    // The queues count half a full batch, 7 ms, for each task: the third comes before device 0, as the first did.
    expect(run).toEqual([
      ...['collect 0 at 0', 'collect 2 at 0', 'run 0 on 0: 0 2'],
      ...['collect 1 at 0', 'run 1 on 1: 1'],
    ]);
    // At 4 ms, device 0 has 10 ms left, and device 1 has 6 ms. Each task that comes adds 7 ms.
    expect(one.at(4, comes(900), comes(900))).toEqual(['collect 4 at 0', 'collect 3 at 0']);
    expect(one.at(10, ends(1, 10))).toEqual(['answer 1 inTime', 'run 1 on 1: 3']);
  });

  it('counts for two-ongoing only the tasks of the same stage on a device that serves another too', () => {
    const topology = planTopologyOf(gearPlan(GEARS), { transfers: 'none' });
    const late = Array.from({ length: 9 }, (_, i) => ({ at: MS + i }));
    const { executed } = runVirtual({
      topology,
      arrivals: [{ at: 0 }, ...late],
      policy: { ...ENGINE_POLICIES['ray-serve'], drop: { kind: 'never' } },
    });
    // Device 0 executes the first one for model 0 when the others come to model 1, as more come than model 0 is for.
    const draws = STREAMS('dispatch');
    const counts = [0, 0];
    const wanted = late.map(() => {
      const first = draws.integer(2);
      draws.integer(1);
      const chosen = counts[1 - first]! < counts[first]! ? 1 - first : first;
      counts[chosen]! += 1;
      return chosen;
    });
    const devices = executed
      .filter(({ pool }) => pool === 1)
      .map(({ device, arrivals }) => [arrivals[0]!, device]);
    devices.sort(([a], [b]) => a! - b!);
    expect(devices).toEqual(wanted.map((device, i) => [1 + i, device]));
  });

  it('counts for two-ongoing what came to the stage at the same instant too', () => {
    const topology = planTopologyOf(gearPlan(GEARS), { transfers: 'none' });
    const pairs = Array.from({ length: 8 }, (_, i) => ({ at: MS + (i >> 1) }));
    const { executed } = runVirtual({
      topology,
      arrivals: [{ at: 0 }, ...pairs],
      policy: { ...ENGINE_POLICIES['ray-serve'], drop: { kind: 'never' } },
    });
    const draws = STREAMS('dispatch');
    const counts = [0, 0];
    const wanted = pairs.map(() => {
      const first = draws.integer(2);
      draws.integer(1);
      const chosen = counts[1 - first]! < counts[first]! ? 1 - first : first;
      counts[chosen]! += 1;
      return chosen;
    });
    const devices = executed
      .filter(({ pool }) => pool === 1)
      .map(({ device, arrivals }) => [arrivals[0]!, device]);
    devices.sort(([a], [b]) => a! - b!);
    expect(devices).toEqual(wanted.map((device, i) => [1 + i, device]));
    expect(wanted.filter((device, i) => i % 2 === 1 && device !== wanted[i - 1])).toHaveLength(4);
  });

  it('counts for a pool what waits before any of its devices', () => {
    const topology = planTopologyOf(gearPlan(GEARS), { transfers: 'none' });
    const sizes = [3, 5, 7, 11, 13];
    const state = {
      topology,
      queues: { count: 5, size: (queue: number) => sizes[queue] },
      columns: new PlanColumns(topology),
      collected: { size: (queue: number) => 100 * queue },
    } as unknown as SharedState;
    const place = new PerDevice(state, { choice: { kind: 'proportional' }, dispatch: { kind: 'turns' } });
    // Queue 3 is that before model 0, and queue 2 that of device 0 for model 1.
    place.deviceUp(0, 0);
    expect([place.waitingBefore(0), place.waitingBefore(1)]).toEqual([...[3 + 11 + 300, 7 + 200 + 13 + 400]]);
    place.deviceUp(0, 1);
    expect(place.waitingBefore(1)).toBe(7 + 200 + 5 + 100 + 13 + 400);
    expect([0, 1, 2, 3, 4].map((queue) => place.placeOf(queue))).toEqual([0, 1, 1, 0, 1]);
    expect([place.isTooLong(), place.device(0), place.device(3)]).toEqual([false, 0, -1]);
    place.retire(0);
    expect([place.device(0), place.left(0), place.joined(0)]).toEqual([-1, [0, 2], [3, 4]]);
  });
});
