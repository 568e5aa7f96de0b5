import { describe, expect, it } from 'vitest';
import { Lists } from '../../../../src/collections/index.js';
import { planTopologyOf } from '../../../../src/plans/index.js';
import { GEAR_POLICY, StageLocalCore } from '../../../../src/serving/index.js';
import { LoadShares } from '../../../../src/serving/stage-local/placing/load-shares.js';
import { Gears } from '../../../../src/serving/stage-local/scaling/gears.js';
import { type GearTable, gearsOf } from '../../../../src/serving/topology.js';
import { simulate } from '../../../../src/simulator/index.js';
import { type GivenGears, gearPlan } from '../../../gear-plans.js';

const DEVICES = 4;

/** Four devices with the same model, and the shares of each under a gear for low and one for high loads. */
function sharing(low: readonly number[], high: readonly number[]) {
  const plan = gearPlan({
    latencyUs: [[1000]],
    held: Array.from({ length: DEVICES }, () => [0]),
    gears: [low, high].map((shares, i) => ({ toRps: 10 * (i + 1), steps: [{ model: 0, shares }] })),
  });
  const topology = planTopologyOf(plan, { transfers: 'none' });
  const table = gearsOf(topology.routes) as GearTable;
  const gears = new Gears(table, 1, () => 0);
  const shares = new LoadShares(topology, table, gears);
  const idle = new Lists(1);
  for (let device = 0; device < DEVICES; device++) idle.push(0, device);
  const deviceOf = Int32Array.from({ length: DEVICES }, (_, device) => device);
  /** take hands tasks one by one to devices that fall idle again at once, and counts those of each. */
  const take = (tasks: number, size = 1): number[] => {
    const counts = new Array<number>(DEVICES).fill(0);
    for (let i = 0; i < tasks; i++) {
      const device = shares.next(0, idle, deviceOf);
      counts[device]! += size;
      shares.handed(0, device, size);
      idle.remove(0, device);
      idle.push(0, device);
    }
    return counts;
  };
  return { take, idle, shares, deviceOf, gears };
}

describe('Load shares', () => {
  it('are those of the tasks that idle devices are handed, whatever the sizes of batches', () => {
    expect(sharing([0.4, 0.3, 0.2, 0.1], []).take(1000)).toEqual([400, 300, 200, 100]);
    expect(sharing([0.4, 0.3, 0.2, 0.1], []).take(1000, 7)).toEqual([2800, 2100, 1400, 700]);
  });

  it('leave a device without a share alone while another is idle', () => {
    const { take, idle, shares, deviceOf } = sharing([0.5, 0, 0.5, 0], []);
    expect(take(10)).toEqual([5, 0, 5, 0]);
    idle.remove(0, 0);
    idle.remove(0, 2);
    expect(shares.next(0, idle, deviceOf)).toBe(1);
  });

  it('are even where none are planned', () => {
    expect(sharing([], []).take(8)).toEqual([2, 2, 2, 2]);
  });

  it('change with the gear, and what was handed out under another gear counts no more', () => {
    const { take, gears } = sharing([1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25]);
    expect(take(8)).toEqual([8, 0, 0, 0]);
    gears.arrived(2);
    expect(gears.current).toBe(1);
    expect(take(8)).toEqual([2, 2, 2, 2]);
  });

  it('count anew when a gear comes into force again, also where nothing was handed out in between', () => {
    const { take, gears } = sharing([0.75, 0.25, 0, 0], [1, 0, 0, 0]);
    expect(take(2)).toEqual([1, 1, 0, 0]);
    gears.arrived(2);
    gears.passed(200e6);
    expect([gears.current, gears.shifts]).toEqual([0, 2]);
    expect(take(2)).toEqual([1, 1, 0, 0]);
  });

  it('do not let a device make up for what it missed while it was away', () => {
    const { take, idle, shares } = sharing([], []);
    idle.remove(0, 3);
    take(9);
    idle.push(0, 3);
    shares.restart();
    expect(take(8)).toEqual([2, 2, 2, 2]);
  });

  it('keep a device free for the model that only it holds, while the load is low', () => {
    const held: GivenGears['held'] = [[0], [0, 1]];
    const servedBy = (shares: readonly number[]) => {
      const plan = gearPlan({
        latencyUs: [[1000], [4000]],
        held,
        gears: [{ toRps: 1000, steps: [{ model: 0, threshold: 0.5, shares }, { model: 1 }] }],
      });
      const topology = planTopologyOf(plan, { transfers: 'none' });
      const tasks = [0, 0];
      let next = -1;
      simulate({
        topology,
        arrivals: {
          model: 0,
          get atNs() {
            return 10e6 * next;
          },
          next: () => ++next < 100,
        },
        observers: [
          {
            started: (_batch, pool, device, size) => {
              if (pool === 0) tasks[device]! += size;
            },
          },
        ],
        makeCore: (decisions) => new StageLocalCore(topology, decisions, GEAR_POLICY),
        verdict: () => 1,
      });
      return tasks;
    };
    expect(servedBy([1, 0])).toEqual([100, 0]);
    expect(servedBy([0.5, 0.5])).toEqual([50, 50]);
  });
});
