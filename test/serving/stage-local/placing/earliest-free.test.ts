import { describe, expect, it } from 'vitest';
import { NONE } from '../../../../src/collections/index.js';
import { planTopologyOf, topologyOf } from '../../../../src/plans/index.js';
import { EarliestFree } from '../../../../src/serving/stage-local/placing/earliest-free.js';
import { Durations, OpenBatches, Requests, TaskQueues } from '../../../../src/serving/state/index.js';
import type { Topology } from '../../../../src/serving/topology.js';
import { gearPlan } from '../../../gear-plans.js';
import { chainOf, MS, modelOf, stage } from '../../by-hand.js';
import { planOf } from '../../plans.js';
import { membersOf } from './queue-sets.js';

const FOUR = [10, 14, 18, 22];

function earliestFree(topology: Topology, up: number[], corrects = true) {
  const requests = new Requests();
  const batches = new OpenBatches(4);
  const queues = new TaskQueues(topology.models.length + topology.pools.length, requests, {
    order: { kind: 'fifo' },
    slackNs: 0,
  });
  const durations = new Durations(topology, { kind: 'none' });
  const place = new EarliestFree({ topology, requests, batches, queues, durations }, corrects);
  for (const device of up) place.deviceUp(0, device);
  place.touched.clear();
  const open = (device: number, size = 1) => {
    const batch = batches.open(topology.devices[device]!.pool, device);
    for (let i = 0; i < size; i++) batches.add(batch, i);
    return batch;
  };
  const hand = (at: number, device: number, size = 1) => {
    const batch = open(device, size);
    place.handed(at, batch);
    return batch;
  };
  const freeMs = (device: number) => place.freeAt(device) / MS;
  return { place, requests, hand, open, freeMs };
}

/** Pool 0 with devices 0 and 1 is followed by pool 1 with device 2. Pool 2 with device 3 is a pipeline of its own. */
const twoPipelines = modelOf(
  1000,
  { throughputRps: 100, parts: [stage(FOUR, { virtualGpus: 2 }), stage(FOUR)] },
  { throughputRps: 100, parts: [stage(FOUR)] },
);
/** Two models with three pools in all. The queues of the first pools are never used. */
const twoModels = topologyOf(
  planOf([
    { sloMs: 100, pipelines: [{ throughputRps: 100, parts: [stage([10]), stage([10])] }] },
    { sloMs: 100, pipelines: [{ throughputRps: 100, parts: [stage([10])] }] },
  ]),
);

describe('EarliestFree', () => {
  it('has a queue per model before its first stages, then one per pool', () => {
    const { place, requests } = earliestFree(twoModels, [0, 1, 2]);
    for (const model of [0, 1]) {
      const task = requests.firstTask(requests.add(model, 0, 1));
      place.goOn(0, task, 1);
      expect(place.queueOf(task)).toBe(3);
      place.begin(0, task);
      expect(requests.poolOf(task)).toBe(NONE);
      expect(place.queueOf(task)).toBe(model);
    }
    const other = requests.firstTask(requests.add(0, 0, 1));
    place.goOn(0, other, 1);
    expect([place.queueOf(other), place.queueBefore(1)]).toEqual([3, 3]);
    // A task in a model's queue stands at no pool.
    expect([0, 1, 2, 3, 4].map((queue) => place.placeOf(queue))).toEqual([NONE, NONE, 0, 1, 2]);
  });

  it('goOn() begins the pipeline again where the next pool has no device, or where there is no next pool', () => {
    const { place, requests } = earliestFree(twoModels, [0]);
    const task = requests.firstTask(requests.add(0, 0, 1));
    place.goOn(0, task, 1);
    expect(requests.poolOf(task)).toBe(NONE);
    place.deviceUp(0, 1);
    place.goOn(0, task, 1);
    expect(requests.poolOf(task)).toBe(1);
    place.goOn(0, task, NONE);
    expect(requests.poolOf(task)).toBe(NONE);
  });

  it('device() is the device of all first stages that is free first, and the lowest where several are', () => {
    const { place, hand } = earliestFree(twoPipelines, [0, 1, 2, 3]);
    expect([place.device(0), place.device(place.queueBefore(1))]).toEqual([0, 2]);
    hand(0, 0, 1);
    expect(place.device(0)).toBe(1);
    hand(0, 1, 1);
    expect(place.device(0)).toBe(3);
    hand(0, 3, 2);
    // The devices are free at 10, 10 and 14 ms.
    expect(place.device(0)).toBe(0);
    hand(0, 0, 1);
    hand(0, 1, 1);
    // The devices are free at 20, 20 and 14 ms.
    expect(place.device(0)).toBe(3);
    // The queues of first pools are never used.
    expect([place.device(place.queueBefore(0)), place.device(place.queueBefore(2))]).toEqual([NONE, NONE]);
  });

  it('handed() keeps a device for as long as the batch takes, from when it is free, or from now', () => {
    const { place, hand, freeMs } = earliestFree(chainOf(100, stage(FOUR)), [0]);
    hand(5 * MS, 0, 3);
    expect(freeMs(0)).toBe(23);
    hand(6 * MS, 0, 2);
    expect(freeMs(0)).toBe(37);
    hand(40 * MS, 0, 1);
    expect(freeMs(0)).toBe(50);
    expect(place.lastUseAt(0)).toBe(40 * MS);
  });

  it('started() updates when the device will have executed all that it was handed', () => {
    const { place, hand, freeMs } = earliestFree(chainOf(100, stage(FOUR)), [0]);
    const first = hand(0, 0, 1);
    hand(0, 0, 4);
    expect(freeMs(0)).toBe(32);
    expect(place.running(0)).toBe(NONE);
    place.started(3 * MS, first);
    expect(freeMs(0)).toBe(35);
    expect(place.running(0)).toBe(first);
  });

  it('executed() and failed() update when the device will have executed the rest', () => {
    const { place, hand, freeMs } = earliestFree(chainOf(100, stage(FOUR)), [0]);
    const [first, second] = [hand(0, 0, 1), hand(0, 0, 4)];
    place.started(0, first);
    // The core is told later than the batch ended.
    place.executed(13 * MS, first, 12 * MS);
    expect(freeMs(0)).toBe(34);
    expect(place.running(0)).toBe(NONE);
    place.started(15 * MS, second);
    expect(freeMs(0)).toBe(37);
    hand(16 * MS, 0, 2);
    place.failed(20 * MS, second);
    expect(freeMs(0)).toBe(34);
  });

  it("counts the rest of a device's work by the times expected when it was handed over", () => {
    const topology = chainOf(100, stage([10]));
    const requests = new Requests();
    const batches = new OpenBatches(1);
    const queues = new TaskQueues(topology.models.length + topology.pools.length, requests, {
      order: { kind: 'fifo' },
      slackNs: 0,
    });
    const durations = new Durations(topology, { kind: 'average', weight: 0.5 });
    const place = new EarliestFree({ topology, requests, batches, queues, durations }, true);
    place.deviceUp(0, 0);
    const hand = () => {
      const batch = batches.open(0, 0);
      batches.add(batch, 0);
      place.handed(0, batch);
      return batch;
    };
    const first = hand();
    // From now on 1 + 0.5 · (2 − 1) of the planned 10 ms is expected.
    durations.observeExecution(0, 1, 20 * MS);
    hand();
    expect(place.freeAt(0)).toBe(25 * MS);
    place.started(0, first);
    place.executed(20 * MS, first, 20 * MS);
    expect(place.freeAt(0)).toBe(35 * MS);
  });

  it('keeps to the expected times where the policy does not correct them', () => {
    const { place, hand, freeMs } = earliestFree(chainOf(100, stage(FOUR)), [0], false);
    const batch = hand(0, 0, 1);
    place.started(3 * MS, batch);
    expect(freeMs(0)).toBe(10);
    place.executed(13 * MS, batch, 13 * MS);
    expect(freeMs(0)).toBe(10);
    expect(membersOf(place.touched)).toEqual([]);
    hand(5 * MS, 0, 1);
    expect(freeMs(0)).toBe(20);
  });

  it('touches the queue that a device serves when the device will be free at another time than expected', () => {
    const { place, hand } = earliestFree(twoPipelines, [0, 1, 2, 3]);
    const [first, later] = [hand(0, 3), hand(0, 2)];
    place.started(0, first);
    place.started(0, later);
    expect(membersOf(place.touched)).toEqual([]);
    place.executed(9 * MS, later, 9 * MS);
    // Pool 1 has queue 2, behind the queues of the model and of pool 0.
    expect(membersOf(place.touched)).toEqual([2]);
    place.executed(9 * MS, first, 9 * MS);
    expect(membersOf(place.touched)).toEqual([0, 2]);
  });

  it("touches the queue of the device's own model", () => {
    const { place, hand } = earliestFree(twoModels, [0, 1, 2]);
    place.started(1, hand(0, 2));
    expect(membersOf(place.touched)).toEqual([1]);
  });

  it('refuses events of a batch that is not the next on its device', () => {
    const { place, hand } = earliestFree(chainOf(100, stage(FOUR)), [0]);
    const [first, second] = [hand(0, 0), hand(0, 0)];
    expect(() => place.started(0, second)).toThrow('not its next');
    expect(() => place.executed(0, first, 0)).toThrow('not on its device');
    place.started(0, first);
    expect(() => place.failed(0, second)).toThrow('not on its device');
  });

  it('deviceUp() makes a device free from that time on and touches every queue', () => {
    const { place, hand } = earliestFree(twoPipelines, [0, 1, 2]);
    place.deviceUp(7, 3);
    expect(place.freeAt(3)).toBe(7);
    expect(membersOf(place.touched)).toEqual([0, 1, 2, 3]);
    expect([0, 1, 2, 3].map((device) => place.isDeviceUp(device))).toEqual([true, true, true, true]);
    hand(0, 0);
    hand(0, 1);
    expect(place.device(0)).toBe(3);
  });

  it('deviceDown() gives all batches that the device was handed, in order, and forgets them', () => {
    const { place, hand, freeMs } = earliestFree(chainOf(100, stage(FOUR, { virtualGpus: 2 })), [0, 1]);
    const batches = [hand(0, 0), hand(0, 0), hand(0, 0)];
    place.started(0, batches[0]!);
    expect(place.deviceDown(0)).toEqual(batches);
    expect(membersOf(place.touched)).toEqual([0, 1]);
    expect([place.running(0), place.isDeviceUp(0), place.device(0)]).toEqual([NONE, false, 1]);
    place.deviceUp(5 * MS, 0);
    expect(freeMs(0)).toBe(5);
    // Nothing is left of what the device was handed before.
    place.started(8 * MS, hand(5 * MS, 0));
    expect(freeMs(0)).toBe(18);
    expect(place.deviceDown(1)).toEqual([]);
  });

  it('uses the devices of a first stage only while every later stage of the pipeline has one', () => {
    const { place } = earliestFree(twoPipelines, [0, 1, 3]);
    expect([place.device(0), place.isUp(0), place.isUp(2)]).toEqual([3, true, false]);
    place.deviceUp(1, 2);
    // Device 2 came up at 1 ns. The others are free since 0, so the lowest of those is taken.
    expect([place.device(0), place.isUp(2)]).toEqual([0, true]);
    place.deviceDown(0);
    expect(place.device(0)).toBe(1);
    place.deviceDown(2);
    expect([place.device(0), place.device(2)]).toEqual([3, NONE]);
    place.deviceDown(3);
    expect([place.device(0), place.isUp(0)]).toEqual([NONE, false]);
    // While the second stage is down, another first device is of no use.
    place.deviceUp(2, 0);
    expect(place.device(0)).toBe(NONE);
    place.deviceUp(3, 2);
    expect(place.device(0)).toBe(1);
  });

  it('uses the devices of a later stage though the stages before and after it are down', () => {
    const { place } = earliestFree(chainOf(100, stage([10]), stage([10]), stage([10])), [1]);
    expect([0, place.queueBefore(1), place.queueBefore(2)].map((queue) => place.device(queue))).toEqual([
      NONE,
      1,
      NONE,
    ]);
  });

  it('has a queue before every pool where gears say at which a request begins', () => {
    const gears = planTopologyOf(
      gearPlan({
        latencyUs: [[1000], [2000]],
        held: [[0, 1], [1]],
        gears: [
          { toRps: 10, steps: [{ model: 0, threshold: 0.5 }, { model: 1 }] },
          { toRps: 20, steps: [{ model: 1 }] },
        ],
      }),
    );
    const { place, requests, hand } = earliestFree(gears, [0, 1]);
    const task = requests.firstTask(requests.add(0, 0, 1));
    place.goOn(0, task, 0);
    expect([place.queueOf(task), place.device(1), place.isUp(1)]).toEqual([1, 0, true]);
    place.goOn(0, task, 1);
    expect([place.queueOf(task), place.device(2), place.poolOf(2, 0)]).toEqual([2, 0, 1]);
    place.started(1, hand(0, 0));
    expect(membersOf(place.touched)).toEqual([1, 2]);
    place.deviceDown(0);
    expect([place.device(1), place.device(2), place.left(0)]).toEqual([NONE, 1, [1]]);
  });

  it('left() is the queue before a pool that has lost its last device', () => {
    const { place } = earliestFree(twoPipelines, [0, 1, 2, 3]);
    place.deviceDown(0);
    expect(place.left(0)).toEqual([]);
    place.deviceDown(2);
    expect(place.left(2)).toEqual([2]);
  });

  it('isTooLong() is always false', () => {
    const { place, hand } = earliestFree(chainOf(100, stage(FOUR)), [0]);
    hand(0, 0);
    expect(place.isTooLong()).toBe(false);
  });

  it('keeps the durations of batches when it grows for more', () => {
    const { place, hand, freeMs } = earliestFree(chainOf(100, stage(FOUR)), [0]);
    const batches = [2, ...new Array<number>(16).fill(1)].map((size) => hand(0, 0, size));
    expect(freeMs(0)).toBe(14 + 160);
    batches.forEach((batch, i) => {
      place.started(20 * MS, batch);
      place.executed(20 * MS, batch, 20 * MS);
      expect(freeMs(0)).toBe(20 + 10 * (16 - i));
    });
  });
});
