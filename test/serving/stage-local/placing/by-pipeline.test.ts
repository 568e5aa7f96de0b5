import { describe, expect, it } from 'vitest';
import { NONE } from '../../../../src/collections/index.js';
import { ByPipeline } from '../../../../src/serving/stage-local/placing/by-pipeline.js';
import {
  Durations,
  OpenBatches,
  PlanColumns,
  Requests,
  TaskQueues,
} from '../../../../src/serving/state/index.js';
import { MS, modelOf, stage } from '../../by-hand.js';

/** Kept keeps devices as any placement by pipeline does, and lists those that fell idle. */
class Kept extends ByPipeline {
  readonly idle: number[] = [];

  protected override fellIdle(device: number): void {
    this.idle.push(device);
  }

  up(device: number): void {
    this.poolsUp.deviceUp(device);
  }

  run(batch: number, device: number, endAt: number): void {
    this.runs[device] = batch;
    this.endAt[device] = endAt;
  }

  override retire(device: number): readonly number[] {
    if (this.poolsUp.isDeviceUp(device)) this.poolsUp.deviceDown(device);
    return [];
  }
}

/** kept has two pipelines of two stages: pools 0 and 1, and pools 2 and 3, whose planned rates are as 2 to 1. */
function kept(choice: 'proportional' | 'least-loaded' = 'least-loaded') {
  const parts = [stage([10]), stage([10])];
  const topology = modelOf(1000, { throughputRps: 200, parts }, { throughputRps: 100, parts });
  const requests = new Requests();
  const queues = new TaskQueues(4, requests, { order: { kind: 'deadline' }, slackNs: 0 });
  const batches = new OpenBatches(4);
  const durations = new Durations(topology, { kind: 'none' });
  const state = { topology, columns: new PlanColumns(topology), durations, requests, queues, batches };
  const taskOf = () => requests.firstTask(requests.add(0, 1000 * MS, 1));
  const place = new Kept(state, { kind: choice });
  return { place, requests, batches, taskOf, poolOf: (task: number) => requests.poolOf(task) };
}

describe('ByPipeline', () => {
  it('gives tasks pipelines by their load, and counts who ends', () => {
    const { place, taskOf, poolOf } = kept();
    for (const device of [0, 1, 2, 3]) place.up(device);
    const tasks = Array.from({ length: 6 }, () => {
      const task = taskOf();
      place.begin(0, task);
      return task;
    });
    expect(tasks.map(poolOf).filter((pool) => pool === 0)).toHaveLength(4);
    for (const task of tasks.filter((one) => poolOf(one) === 2)) place.ended(task);
    const [next, after] = [taskOf(), taskOf()];
    for (const task of [next, after]) place.begin(0, task);
    expect([poolOf(next), poolOf(after)]).toEqual([2, 2]);
    // A branch counts as one more.
    place.branched(next);
    const third = taskOf();
    place.begin(0, third);
    expect(poolOf(third)).toBe(0);
  });

  it('begins a task again in another pipeline where its own is not up, and lets it wait where none is', () => {
    const { place, requests, taskOf, poolOf } = kept('proportional');
    for (const device of [0, 1]) place.up(device);
    const task = taskOf();
    place.begin(0, task);
    expect(poolOf(task)).toBe(0);
    for (const device of [2, 3]) place.up(device);
    place.retire(1);
    place.goOn(7, task, 1);
    expect([poolOf(task), requests.entryOf(task), requests.queuedAt(task)]).toEqual([2, 2, 7]);
    place.retire(2);
    place.goOn(9, task, 3);
    expect([poolOf(task), requests.entryOf(task), requests.queuedAt(task)]).toEqual([3, 2, 7]);
  });

  it('knows what runs, when it is expected to end, and when each pool was used last', () => {
    const { place, batches } = kept();
    place.up(0);
    const batch = batches.open(0, 0);
    expect([place.running(0), place.freeAt(0), place.lastUseAt(0, 0), place.devicesUp(0)]).toEqual([
      NONE,
      0,
      0,
      1,
    ]);
    place.run(batch, 0, 10);
    place.started(0, batch);
    expect([place.running(0), place.freeAt(0), place.idle]).toEqual([batch, 10, []]);
    place.executed(12, batch);
    expect([place.running(0), place.freeAt(0), place.lastUseAt(0, 0), place.idle]).toEqual([
      NONE,
      0,
      12,
      [0],
    ]);
    place.run(batch, 0, 30);
    place.failed(20, batch);
    expect([place.lastUseAt(0, 0), place.idle]).toEqual([12, [0, 0]]);
    expect(() => place.executed(21, batch)).toThrow('not on its device');
    expect(() => place.started(21, batch)).toThrow('not on its device');
  });

  it('gives the batch that was on a device which is lost, and takes the device for down', () => {
    const { place, batches } = kept();
    place.up(0);
    place.run(batches.open(0, 0), 0, 10);
    expect(place.deviceDown(0)).toHaveLength(1);
    expect([place.running(0), place.isDeviceUp(0), place.devicesUp(0), place.idle]).toEqual([
      NONE,
      false,
      0,
      [],
    ]);
    expect(place.deviceDown(0)).toEqual([]);
  });
});
