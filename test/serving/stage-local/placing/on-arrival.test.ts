import { describe, expect, it } from 'vitest';
import { Lists, NONE } from '../../../../src/collections/index.js';
import { streamsOf } from '../../../../src/random/index.js';
import { droppingOf } from '../../../../src/serving/stage-local/dropping/dropping.js';
import { PlannedBatches } from '../../../../src/serving/stage-local/forming/planned-batches.js';
import { OnArrival } from '../../../../src/serving/stage-local/placing/on-arrival.js';
import type { PipelineChoice } from '../../../../src/serving/stage-local/policy.js';
import { OpenBatches, PlanColumns } from '../../../../src/serving/state/index.js';
import type { StageTopology } from '../../../../src/serving/topology.js';
import { chainOf, MS, modelOf, stage, Waiting } from '../../by-hand.js';
import { membersOf } from './queue-sets.js';

const FOUR = [10, 14, 18, 22];
const FAR = 1000 * MS;

function onArrival(topology: StageTopology, up: number[], choice: PipelineChoice = { kind: 'least-loaded' }) {
  const waiting = new Waiting(topology);
  const { requests, queues, durations } = waiting;
  const batches = new OpenBatches(4);
  const columns = new PlanColumns(topology);
  const planned = new PlannedBatches(columns, durations);
  const streams = streamsOf(1, 'core');
  const collected = new Lists(queues.count);
  const state = { topology, columns, requests, batches, queues, collected, durations, planned, streams };
  const place = new OnArrival(state, choice, droppingOf({ kind: 'hopeless' }, state));
  for (const device of up) place.deviceUp(0, device);
  place.touched.clear();
  /** Hands a device a batch of `size` tasks. */
  const hand = (at: number, device: number, size = 1) => {
    const batch = batches.open(topology.devices[device]!.pool, device);
    for (let i = 0; i < size; i++) batches.add(batch, i);
    place.handed(at, batch);
    return batch;
  };
  /** Begins the way of a new task. @returns the task */
  const begin = (latestEnd = FAR) => {
    const task = requests.firstTask(requests.add(0, latestEnd, 1));
    place.begin(0, task);
    return task;
  };
  return { place, waiting, requests, hand, begin };
}

/** Pools 0 and 1 are one pipeline, pool 2 is another. */
const twoPipelines = modelOf(
  1000,
  { throughputRps: 100, parts: [stage([10]), stage([10])] },
  { throughputRps: 100, parts: [stage([10])] },
);

describe('OnArrival', () => {
  it('has a queue per pool, where a task stands and where its drop is reported', () => {
    const { place, begin, requests } = onArrival(twoPipelines, [0, 1, 2]);
    expect([place.queueBefore(1), place.placeOf(2)]).toEqual([1, 2]);
    const [first, second] = [begin(), begin()];
    expect([first, second].map((task) => place.queueOf(task))).toEqual([0, 2]);
    expect([requests.entryOf(first), requests.entryOf(second)]).toEqual([0, 2]);
    place.goOn(5, first, 1);
    expect([place.queueOf(first), requests.entryOf(first)]).toEqual([1, 0]);
  });

  it('device() is the device that has been idle longest', () => {
    const { place, hand } = onArrival(chainOf(100, stage(FOUR, { virtualGpus: 3 })), [1, 0, 2]);
    expect(place.device(0)).toBe(1);
    const first = hand(0, 1);
    expect(place.device(0)).toBe(0);
    const second = hand(0, 0);
    hand(0, 2);
    expect(place.device(0)).toBe(NONE);
    place.executed(3, second);
    place.failed(3, first);
    expect(place.device(0)).toBe(0);
    hand(4, 0);
    expect(place.device(0)).toBe(1);
  });

  it('freeAt() is when the batch on a device is expected to end, and the past for an idle device', () => {
    const { place, hand } = onArrival(chainOf(100, stage(FOUR)), [0]);
    expect(place.freeAt(0)).toBe(0);
    const batch = hand(5 * MS, 0, 3);
    expect(place.freeAt(0)).toBe(23 * MS);
    place.executed(20 * MS, batch);
    expect(place.freeAt(0)).toBe(0);
  });

  it('running() is the batch on a device', () => {
    const { place, hand } = onArrival(chainOf(100, stage(FOUR, { virtualGpus: 2 })), [0, 1]);
    expect(place.running(0)).toBe(NONE);
    const [first, second] = [hand(0, 1), hand(0, 0)];
    expect([place.running(0), place.running(1)]).toEqual([second, first]);
    place.failed(1, first);
    expect([place.running(0), place.running(1)]).toEqual([second, NONE]);
  });

  it('lastUseAt() is when an execution of the pool last ended with results', () => {
    const { place, hand } = onArrival(twoPipelines, [0, 1, 2]);
    expect(place.lastUseAt(1, 1)).toBe(0);
    place.executed(7, hand(0, 1));
    place.failed(9, hand(8, 1));
    expect([0, 1, 2].map((pool) => place.lastUseAt(pool, pool))).toEqual([0, 7, 0]);
  });

  it('touches a queue when a device of its pool becomes idle, comes or goes, and touches no other', () => {
    const { place, hand } = onArrival(twoPipelines, [0, 1]);
    const touched = () => {
      const queues = membersOf(place.touched);
      place.touched.clear();
      return queues;
    };
    const batch = hand(0, 1);
    expect(touched()).toEqual([]);
    place.started(0, batch);
    expect(touched()).toEqual([]);
    place.executed(1, batch);
    expect(touched()).toEqual([1]);
    place.deviceUp(2, 2);
    expect(touched()).toEqual([2]);
    place.deviceDown(0);
    expect(touched()).toEqual([0]);
  });

  it('deviceDown() gives the batch that ran, if any, and the device is no longer used', () => {
    const { place, hand } = onArrival(chainOf(100, stage(FOUR, { virtualGpus: 2 })), [0, 1]);
    expect(place.deviceDown(0)).toEqual([]);
    expect([place.isDeviceUp(0), place.isDeviceUp(1)]).toEqual([false, true]);
    expect(place.device(0)).toBe(1);
    const batch = hand(0, 1);
    expect(place.deviceDown(1)).toEqual([batch]);
    expect([place.device(0), place.running(1), place.isDeviceUp(1)]).toEqual([NONE, NONE, false]);
    place.deviceUp(5, 1);
    expect(place.device(0)).toBe(1);
  });

  it('deviceDown() leaves busy devices busy', () => {
    const { place, hand } = onArrival(chainOf(100, stage(FOUR, { virtualGpus: 2 })), [0, 1]);
    hand(0, 0);
    hand(0, 1);
    place.deviceDown(0);
    expect(place.device(0)).toBe(NONE);
  });

  it('refuses events of a batch that is not on its device', () => {
    const { place, hand } = onArrival(chainOf(100, stage(FOUR)), [0]);
    const batch = hand(0, 0);
    place.started(0, batch);
    place.executed(1, batch);
    expect(() => place.started(1, batch)).toThrow('not on its device');
    expect(() => place.executed(1, batch)).toThrow('not on its device');
    expect(() => place.failed(1, batch)).toThrow('not on its device');
  });

  it('left() is every queue up to a pool that has lost its last device', () => {
    const topology = chainOf(100, stage([10]), stage([10], { virtualGpus: 2 }), stage([10]));
    const { place } = onArrival(topology, [0, 1, 2, 3]);
    place.deviceDown(1);
    expect(place.left(1)).toEqual([]);
    place.deviceDown(2);
    expect(place.left(2)).toEqual([0, 1]);
    const second = onArrival(twoPipelines, [0, 1]);
    expect(second.place.left(2)).toEqual([2]);
  });

  it('isUp() says whether the pool and all later ones have a device', () => {
    const { place } = onArrival(chainOf(100, stage([10]), stage([10])), [1]);
    expect([place.isUp(0), place.isUp(1)]).toEqual([false, true]);
    place.deviceUp(0, 0);
    place.deviceDown(1);
    expect([place.isUp(0), place.isUp(1)]).toEqual([false, false]);
  });

  it('begin() counts a task as in flight until it has ended', () => {
    const { place, begin } = onArrival(twoPipelines, [0, 1, 2]);
    const tasks = [begin(), begin(), begin()];
    expect(tasks.map((task) => place.queueOf(task))).toEqual([0, 2, 0]);
    // One task is left in each pipeline: the next goes to the first again.
    place.ended(tasks[0]!);
    expect([begin(), begin()].map((task) => place.queueOf(task))).toEqual([0, 2]);
    place.ended(tasks[1]!);
    expect([begin(), begin()].map((task) => place.queueOf(task))).toEqual([2, 0]);
  });

  it('ended() does not count a task that never began', () => {
    const { place, begin, requests } = onArrival(twoPipelines, [0, 1, 2]);
    begin();
    place.ended(requests.firstTask(requests.add(0, FAR, 1)));
    expect(place.queueOf(begin())).toBe(2);
  });

  it('goOn() begins again in another pipeline where its own is broken, as if the task came now', () => {
    const { place, begin, requests } = onArrival(twoPipelines, [0, 1, 2]);
    const task = begin();
    requests.setQueuedAt(task, 3);
    place.deviceDown(1);
    place.goOn(8, task, 1);
    expect([place.queueOf(task), requests.entryOf(task), requests.queuedAt(task)]).toEqual([2, 2, 8]);
    // The task is in flight there and no longer in the first pipeline.
    place.deviceUp(9, 1);
    expect([begin(), begin()].map((next) => place.queueOf(next))).toEqual([0, 0]);
  });

  it('goOn() keeps a task in a broken pipeline where no other is up, and counts it there', () => {
    const { place, begin, requests } = onArrival(twoPipelines, [0, 1, 2]);
    const task = begin();
    requests.setQueuedAt(task, 3);
    place.deviceDown(1);
    place.deviceDown(2);
    place.goOn(8, task, 1);
    expect([place.queueOf(task), requests.entryOf(task), requests.queuedAt(task)]).toEqual([1, 0, 3]);
    place.deviceUp(9, 1);
    place.deviceUp(9, 2);
    expect([begin(), begin()].map((next) => place.queueOf(next))).toEqual([2, 0]);
  });

  it('goOn() chooses the other pipeline by the time left until the deadline', () => {
    const topology = modelOf(
      1000,
      { throughputRps: 1, parts: [stage([10])] },
      { throughputRps: 900, parts: [stage([30])] },
      { throughputRps: 1, parts: [stage([20])] },
    );
    const { place, begin } = onArrival(topology, [0, 1, 2]);
    for (const [latestEnd, queue] of [
      [48 * MS, 1],
      [48 * MS - 1, 2],
    ] as const) {
      const task = begin(latestEnd);
      place.deviceDown(0);
      place.goOn(18 * MS, task, 0);
      expect(place.queueOf(task)).toBe(queue);
      place.deviceUp(19 * MS, 0);
    }
  });
});

describe('OnArrival.isTooLong()', () => {
  const one = chainOf(1000, stage([10]));
  /** Expects that a task that comes now ends at the given millisecond, and not a nanosecond sooner. */
  const endsAt = (place: OnArrival, at: number, ms: number) =>
    expect([0, 1].map((early) => place.isTooLong(at, 0, ms * MS - early, 0))).toEqual([false, true]);

  it('asks how long each device is busy', () => {
    const { place, hand, waiting } = onArrival(one, [0]);
    expect(place.isTooLong(0, 0, 0, 0)).toBe(false);
    const batch = hand(3 * MS, 0);
    endsAt(place, 4 * MS, 13 + 10);
    waiting.add(0, FAR);
    endsAt(place, 4 * MS, 13 + 10 + 10);
    place.executed(6 * MS, batch);
    endsAt(place, 6 * MS, 6 + 10 + 10);
    expect(place.isTooLong(6 * MS, 0, 100 * MS, 9)).toBe(true);
  });

  it('follows devices that fail, go and come, and changes of the queue', () => {
    const topology = chainOf(1000, stage([10], { virtualGpus: 2 }));
    const { place, hand, waiting } = onArrival(topology, [0]);
    const task = waiting.add(0, FAR);
    const batch = hand(0, 0);
    endsAt(place, 0, 10 + 10 + 10);
    place.failed(5 * MS, batch);
    endsAt(place, 5 * MS, 5 + 10 + 10);
    place.deviceUp(6 * MS, 1);
    expect(place.isTooLong(6 * MS, 0, 0, 0)).toBe(false);
    hand(7 * MS, 1);
    place.deviceDown(0);
    endsAt(place, 7 * MS, 17 + 10 + 10);
    waiting.queues.remove(0, task);
    place.changed(0);
    endsAt(place, 7 * MS, 17 + 10);
  });

  it('asks only the pipelines that are up', () => {
    const { place, hand } = onArrival(twoPipelines, [0, 1, 2]);
    hand(0, 0);
    expect(place.isTooLong(0, 0, 0, 0)).toBe(false);
    hand(0, 2);
    endsAt(place, 0, 10 + 10);
    place.deviceDown(2);
    endsAt(place, 0, 10 + 10 + 10);
    place.deviceDown(1);
    expect(place.isTooLong(0, 0, 0, 0)).toBe(false);
  });
});
