import { describe, expect, it } from 'vitest';
import { OpenWork } from '../../../src/serving/workflow/open-work.js';
import { PlannedWork } from '../../../src/serving/workflow/planned-work.js';
import { Queues } from '../../../src/serving/workflow/queues.js';
import { Residency } from '../../../src/serving/workflow/residency.js';
import { Placeable } from '../../../src/serving/workflow/table.js';
import type { Task } from '../../../src/serving/workflow/work.js';
import { type Shape, workflowTopology } from './workflows.js';

const NEVER = Number.POSITIVE_INFINITY;

/** One device holds two components, of which it executes batches of two. */
const SHAPE: Shape = {
  components: [100, 20].map((times) => ({ bytes: 10, loadNs: 1, latencyNs: [[times, times]] })),
  devices: [{ class: 0, server: 0, bytes: 1000 }],
  applications: 1,
  hostBytes: 1000,
  linkBytesPerNs: 1,
  networkBytesPerNs: 1,
  sloNs: 1,
  holds: [[0, 1]],
};

/** queued puts tasks, each of a request of its own and known by its place, into the queue of the device at an instant. */
function queued(isInHurry: boolean) {
  const { topology, table } = workflowTopology(SHAPE);
  const placeable = new Placeable(topology, table);
  const work = new PlannedWork(topology, placeable, false);
  const residency = new Residency(table, placeable);
  const queues = new Queues(1, { components: 2, work, residency });
  if (isInHurry) queues.gaveUp(0);
  const open = new OpenWork();
  const tasks: Task[] = [];
  const put = (at: number, component: number, deadlineNs: number, isWaiting = false): Task => {
    queues.nowNs = at;
    const request = open.open(0, deadlineNs);
    const before = open.called(request, { component, rows: 1, inputs: [] });
    const task = open.called(request, { component, rows: 1, inputs: isWaiting ? [before.number] : [] });
    task.device = 0;
    queues.push(task);
    work.add(0, { component, rows: 1, fromNs: at });
    tasks.push(task);
    return task;
  };
  /** come brings what a task takes to the device. */
  const come = (task: Task) => {
    for (const input of task.inputs)
      Object.assign(input, { state: 'done', places: [{ device: 0, fetch: -1, sends: 0 }] });
    queues.changed(task);
  };
  const next = (at: number) => {
    queues.nowNs = at;
    return queues.nextBatch(0).map((task) => tasks.indexOf(task));
  };
  return { put, come, next, gaveUp: (at: number) => queues.gaveUp(at) };
}

describe('the next batch of a device', () => {
  it('is the first that was planned', () => {
    const { put, next } = queued(false);
    put(0, 1, NEVER);
    put(0, 0, 5);
    put(0, 1, 9);
    expect(next(0)).toEqual([0, 2]);
  });

  it('is one that is ready as a whole, where the first that was planned is not', () => {
    const { put, next, come } = queued(false);
    put(0, 1, NEVER);
    const late = put(0, 1, NEVER, true);
    put(0, 0, NEVER);
    expect(next(0)).toEqual([2]);
    come(late);
    expect(next(0)).toEqual([0, 1]);
  });

  it('is a part of the first that was planned where none is ready as a whole', () => {
    const { put, next } = queued(false);
    put(0, 1, NEVER);
    put(0, 1, NEVER, true);
    expect(next(0)).toEqual([0]);
  });

  it('is that of the task with the first deadline, before all tasks without one, while requests are given up', () => {
    const { put, next } = queued(true);
    put(0, 1, NEVER);
    put(0, 1, 9);
    put(0, 0, 5);
    put(0, 0, 12);
    expect(next(0)).toEqual([2, 3]);
  });

  it('is the first that was planned where no task has a deadline, or one without has waited for ten seconds', () => {
    const none = queued(true);
    none.put(0, 1, NEVER);
    none.put(0, 0, NEVER);
    expect(none.next(0)).toEqual([0]);
    const { put, next, gaveUp } = queued(true);
    put(0, 1, NEVER);
    put(1, 0, 20e9);
    expect(next(5e9)).toEqual([1]);
    // Nothing was given up for five seconds.
    expect(next(5e9 + 1)).toEqual([0]);
    gaveUp(10e9);
    expect(next(10e9)).toEqual([1]);
    expect(next(10e9 + 1)).toEqual([0]);
  });
});
