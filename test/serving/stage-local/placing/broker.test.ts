import { describe, expect, it } from 'vitest';
import { planTopologyOf } from '../../../../src/plans/index.js';
import { StageLocalCore, type StageLocalPolicy, type Topology } from '../../../../src/serving/index.js';
import { PARD_POLICIES } from '../../../../src/serving/stage-local/pard-policies.js';
import { gearPlan } from '../../../gear-plans.js';
import { chainOf, MS, stage } from '../../by-hand.js';
import { cancels, comes, down, due, ends, fails, Told, up } from '../../told.js';
import { runVirtual, STREAMS } from '../../virtual-driver.js';

const NANO = 1e-6;

const told = (topology: Topology, policy: Partial<StageLocalPolicy> = {}) =>
  new Told(
    (decisions) =>
      new StageLocalCore(topology, decisions, { ...PARD_POLICIES.naive, streams: STREAMS, ...policy }),
  );

/** Gives up what would end this stage too late. */
const OWN_END = {
  kind: 'end-to-end',
  queueing: false,
  execution: true,
  wait: 'none',
  quantile: 0,
  branches: 'worst',
} as const;

describe('RequestBroker', () => {
  it('collects the next batch while the device is busy, starts it when that is free, and collects the one after', () => {
    const one = told(chainOf(1000, stage([10, 14, 18])));
    expect(one.at(0, up(0), comes(900))).toEqual(['collect 0 at 0', 'run 0 on 0: 0']);
    expect(one.at(1, comes(900), comes(900))).toEqual(['collect 1 at 0', 'collect 2 at 0']);
    expect(one.at(2, comes(900), comes(900))).toEqual(['collect 3 at 0']);
    expect(one.at(10, ends(0, 10))).toEqual(['answer 0 inTime', 'run 0 on 0: 1 2 3', 'collect 4 at 0']);
  });

  it('decides by when the batch before is expected to end, and at once where the device is idle', () => {
    const topology = chainOf(1000, stage([10, 14]));
    const one = told(topology, { drop: OWN_END, order: { kind: 'deadline' } });
    one.at(0, up(0), comes(900));
    // The next batch starts at 10 ms, and is planned to take 14 ms.
    expect(one.at(1, comes(24, { exact: -1 }))).toEqual(['drop 1 deadline at 0']);
    expect(one.at(1, comes(24))).toEqual(['collect 1 at 0']);
    const idle = told(topology, { drop: OWN_END, order: { kind: 'deadline' } });
    idle.at(0, up(0));
    expect(idle.at(1, comes(15, { exact: -1 }), comes(15))).toEqual([
      'drop 0 deadline at 0',
      'collect 1 at 0',
      'run 0 on 0: 1',
      'wake 1000',
    ]);
  });

  it('gives up who waits behind a full batch as soon as that is certain to be too late', () => {
    const one = told(chainOf(1000, stage([10])), { drop: OWN_END, order: { kind: 'latest-deadline' } });
    one.at(0, up(0), comes(900));
    expect(one.at(1, comes(900))).toEqual(['collect 1 at 0']);
    expect(one.at(2, comes(15), comes(800))).toEqual([`wake ${5 + NANO}`]);
    expect(one.at(5 + NANO, due)).toEqual(['drop 2 deadline at 0', `wake ${790 + NANO}`]);
  });

  it('gives up who is too late as soon as it comes to the head of the queue because the one before it left', () => {
    const one = told(chainOf(1000, stage([10])), { drop: OWN_END });
    one.at(0, up(0), comes(900));
    one.at(1, comes(900));
    // The device is full. The third could end by 800, and the fourth, which is behind it, cannot end by 15 from 5 ms on.
    expect(one.at(2, comes(800), comes(15))).toEqual([`wake ${790 + NANO}`]);
    expect(one.at(6, cancels(2))).toEqual(['drop 3 deadline at 0', 'wake 1000']);
    expect(one.at(7, comes(800), comes(20))).toEqual([`wake ${790 + NANO}`]);
    expect(one.at(8, cancels(3))).toEqual([`wake ${10 + NANO}`]);
  });

  it('fills the room that a request leaves which is given up elsewhere, at the same instant', () => {
    const one = told(chainOf(1000, stage([10, 14], { virtualGpus: 2 })), {
      drop: OWN_END,
      order: { kind: 'deadline' },
    });
    one.at(0, up(0, 1), comes(900), comes(900));
    expect(one.at(1, comes(900), comes(900), comes(900), comes(900))).toEqual(
      [
        ...['collect 2 at 0', 'collect 4 at 0', 'collect 3 at 0', 'collect 5 at 0'],
        `wake ${886 + NANO}`,
      ].slice(0, 4),
    );
    one.at(2, cancels(4));
    // Its rows come before both devices. One has room, the other has not.
    expect(one.at(3, comes(24, { rows: 2 }))[0]).toMatch(/^collect \d at 0$/);
    expect(one.at(4, comes(900))).toEqual([]);
    expect(one.at(10 + NANO, due).slice(0, 2)).toEqual(['drop 4 deadline at 0', 'collect 7 at 0']);
  });

  it('fills the room of a request that is cancelled', () => {
    const one = told(chainOf(1000, stage([10, 14])));
    one.at(0, up(0), comes(900));
    one.at(1, comes(900), comes(900), comes(900));
    expect(one.at(2, cancels(1))).toEqual(['collect 3 at 0']);
    expect(one.at(10, ends(0, 10))).toEqual(['answer 0 inTime', 'run 0 on 0: 2 3']);
  });

  it('collects a task alone whose batch failed', () => {
    const one = told(chainOf(1000, stage([10, 14, 18])));
    one.at(0, up(0), comes(900), comes(900));
    one.at(1, comes(900));
    // What is collected already is served first.
    expect(one.at(14, fails(0))).toEqual(['run 0 on 0: 2', 'collect 0 at 0']);
    expect(one.at(15, comes(900))).toEqual([]);
    expect(one.at(24, ends(0, 10))).toEqual(['answer 2 inTime', 'run 0 on 0: 0', 'collect 1 at 0']);
    expect(one.at(34, ends(0, 10))).toEqual([
      'answer 0 inTime',
      'run 0 on 0: 1',
      expect.stringMatching(/^collect/),
    ]);
  });

  it('dispatches again what waits before a device that is lost, collected or not', () => {
    const one = told(chainOf(1000, stage([10], { virtualGpus: 2 })));
    one.at(0, up(0), comes(900), comes(900), comes(900));
    expect(one.at(1, up(1), down(0))).toEqual(['collect 0 at 0', 'run 0 on 1: 0', 'collect 1 at 0']);
    const none = told(chainOf(1000, stage([10])));
    none.at(0, up(0), comes(900), comes(900));
    expect(none.at(1, down(0))).toEqual([]);
    expect(none.at(2, up(0))).toEqual(['collect 0 at 0', 'run 0 on 0: 0', 'collect 1 at 0']);
  });

  it('sleeps while all that is open waits for a device and nothing is ever given up', () => {
    const order = { kind: 'adaptive', transition: 'delayed' } as const;
    const one = told(chainOf(1000, stage([10])), { order });
    expect(one.at(0, comes(900))).toEqual([]);
    expect(one.at(2500, up(0))).toEqual(['collect 0 at 0', 'run 0 on 0: 0', 'wake 3000']);
    expect(one.at(2510, down(0))).toEqual([]);
    // With a drop rule it wakes for that, and shares its state meanwhile.
    const drops = told(chainOf(1000, stage([10])), { order, drop: OWN_END });
    expect(drops.at(0, comes(1900))).toEqual(['wake 1000']);
  });

  it('gives up what waits for a device past its deadline, by any rule that gives anything up', () => {
    for (const drop of [
      { kind: 'stage-budget', shares: 'durations', until: 'start' },
      { kind: 'overload', thresholdNs: 1, share: 0.4 },
    ] as const) {
      const one = told(chainOf(1000, stage([10])), { drop });
      expect(one.at(0, comes(100))[0]).toBe(`wake ${100 + NANO}`);
      expect(one.at(100 + NANO, due)).toEqual(['drop 0 device-down at 0']);
    }
  });

  it('finds out that a stage has recovered that was too slow to use', () => {
    const topology = chainOf(30, stage([10]));
    let count = 0;
    const { ended } = runVirtual({
      topology,
      arrivals: Array.from({ length: 2000 }, (_, i) => ({ at: i * 20 * MS })),
      executionNs: () => (++count <= 20 ? 100 * MS : 10 * MS),
      policy: { ...PARD_POLICIES.pard, correction: { kind: 'average', weight: 0.1 } },
    });
    const late = ended.filter(({ arrivedAt }) => arrivedAt > 20_000 * MS);
    expect(late.every(({ outcome }) => outcome === 'inTime')).toBe(true);
  });

  it('keeps late tasks for devices that have collected nothing from any of their pools', () => {
    const topology = planTopologyOf(
      gearPlan({
        latencyUs: [[10_000], [10_000]],
        held: [[0, 1]],
        sloMs: 50,
        gears: [{ toRps: 1e6, steps: [{ model: 0, threshold: 2 }, { model: 1 }] }],
      }),
      { transfers: 'none' },
    );
    const { executed } = runVirtual({
      topology,
      arrivals: Array.from({ length: 12 }, (_, i) => ({ at: i * 3 * MS })),
      policy: {
        ...PARD_POLICIES.pard,
        drop: { kind: 'hopeless' },
        slackNs: 0,
        late: { kind: 'background', patience: 9, mostMissed: 1, window: 9 },
      },
      verdict: () => 0,
    });
    expect(executed.length).toBe(24);
  });
});
