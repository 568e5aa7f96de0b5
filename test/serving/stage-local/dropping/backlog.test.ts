import { describe, expect, it } from 'vitest';
import { Lists } from '../../../../src/collections/index.js';
import { streamsOf } from '../../../../src/random/index.js';
import { Backlog } from '../../../../src/serving/stage-local/dropping/backlog.js';
import { droppingOf } from '../../../../src/serving/stage-local/dropping/dropping.js';
import { PlannedBatches } from '../../../../src/serving/stage-local/forming/planned-batches.js';
import type { DropRule } from '../../../../src/serving/stage-local/policy.js';
import { OpenBatches, PlanColumns } from '../../../../src/serving/state/index.js';
import type { StageTopology } from '../../../../src/serving/topology.js';
import { BYTES_PER_MS, chainOf, MS, modelOf, stage, Waiting } from '../../by-hand.js';

const FOUR = [10, 14, 18, 22];
const FAR = 1000 * MS;
const HOPELESS: DropRule = { kind: 'hopeless' };

const single = (virtualGpus = 1) => chainOf(1000, stage(FOUR, { virtualGpus }));

/**
 * A backlog over devices that become free at these milliseconds; `undefined` is a device that is down. `endIs` expects
 * that a task that came now would end at the given millisecond, and not a nanosecond sooner.
 */
function backlog(topology: StageTopology, freeMs: (number | undefined)[], rule: DropRule = HOPELESS) {
  const waiting = new Waiting(topology);
  const { requests, queues, durations } = waiting;
  const { models } = topology;
  const columns = new PlanColumns(topology);
  const planned = new PlannedBatches(columns, durations);
  const [batches, streams] = [new OpenBatches(4), streamsOf(1, 'core')];
  const collected = new Lists(queues.count);
  const state = { topology, columns, requests, batches, queues, collected, durations, planned, streams };
  const log = new Backlog(state, droppingOf(rule, state), (device) => {
    const free = freeMs[device];
    return free === undefined ? undefined : free * MS;
  });
  const entries = models[0]!.entries;
  const isTooLong = (latestEnd: number, { ahead = 0, at = 0 } = {}) =>
    log.isTooLong(at, entries, ahead, latestEnd);
  const endIs = (ms: number, options: { ahead?: number; at?: number } = {}) =>
    expect([isTooLong(ms * MS, options), isTooLong(ms * MS - 1, options)]).toEqual([false, true]);
  const wait = (count: number, latestEnd = FAR, queue = 0) =>
    Array.from({ length: count }, () => waiting.add(queue, latestEnd));
  return { waiting, log, wait, isTooLong, endIs, freeMs };
}

describe('Backlog.isTooLong()', () => {
  it('is false while a device is free at once, however early the deadline', () => {
    const { wait, isTooLong, endIs } = backlog(single(), [5]);
    expect(isTooLong(0, { at: 5 * MS })).toBe(false);
    expect(isTooLong(0, { at: 9 * MS })).toBe(false);
    wait(3);
    expect(isTooLong(0, { at: 9 * MS })).toBe(false);
    wait(1);
    expect(isTooLong(0, { at: 9 * MS })).toBe(true);
    // The backlog was first asked at 5 ms, and takes the device to work from then on.
    endIs(5 + 22 + 10, { at: 9 * MS });
  });

  it('lets an idle device begin now, not when it fell idle', () => {
    const { wait, endIs } = backlog(single(), [5]);
    wait(4);
    endIs(9 + 22 + 10, { at: 9 * MS });
  });

  it('puts the task into a batch of its own behind the full batches that wait', () => {
    for (const [count, endMs] of [
      [0, 5 + 10],
      [3, 5 + 10],
      [4, 5 + 22 + 10],
      [7, 5 + 22 + 10],
      [8, 5 + 44 + 10],
    ] as const) {
      const { wait, endIs } = backlog(single(), [5]);
      wait(count);
      endIs(endMs);
    }
  });

  it('counts the tasks that will come before, which fill the batch that is still open', () => {
    const { wait, endIs } = backlog(single(), [5]);
    wait(2);
    endIs(5 + 10, { ahead: 1 });
    endIs(5 + 22 + 10, { ahead: 2 });
    endIs(5 + 22 + 10, { ahead: 5 });
    endIs(5 + 44 + 10, { ahead: 6 });
    wait(4);
    // Six tasks make one full batch, and two in the next.
    endIs(5 + 22 + 10, { ahead: 1 });
    endIs(5 + 44 + 10, { ahead: 2 });
  });

  it('gives each batch to the device that is free first', () => {
    for (const [count, endMs] of [
      [0, 5 + 10],
      // Device 0 is busy until 27 ms, and device 1 is free at 9 ms.
      [4, 9 + 10],
      // Device 1 is busy until 31 ms.
      [8, 27 + 10],
      [12, 31 + 10],
      [16, 49 + 10],
    ] as const) {
      for (const freeMs of [
        [5, 9],
        [9, 5],
      ]) {
        const { wait, endIs } = backlog(single(2), freeMs);
        wait(count);
        endIs(endMs);
      }
    }
  });

  it('spreads the tasks that will come before over the devices, a batch for each before any gets a second', () => {
    const { wait, endIs } = backlog(single(2), [5, 9]);
    wait(1);
    endIs(5 + 10, { ahead: 6 });
    endIs(5 + 22 + 10, { ahead: 7 });
    endIs(5 + 22 + 10, { ahead: 14 });
    endIs(5 + 44 + 10, { ahead: 15 });
  });

  it('looks only at devices that are up, and is false where none is', () => {
    const { wait, endIs } = backlog(single(3), [undefined, 5, undefined]);
    wait(4);
    endIs(5 + 22 + 10);
    const down = backlog(single(), [undefined]);
    down.wait(100);
    expect(down.isTooLong(0)).toBe(false);
    expect(down.isTooLong(0, { ahead: 100 })).toBe(false);
  });

  it('is false where no pipeline is given', () => {
    const { log, wait } = backlog(single(), [5]);
    wait(9);
    expect(log.isTooLong(0, [], 9, 0)).toBe(false);
  });

  it('does not count tasks that will themselves be too late, to the nanosecond', () => {
    // The device is free at 5 ms and takes 10 ms for one task.
    const inTime = backlog(single(), [5]);
    inTime.wait(1, 15 * MS);
    inTime.wait(3);
    inTime.endIs(5 + 22 + 10);
    const late = backlog(single(), [5]);
    late.wait(1, 15 * MS - 1);
    late.wait(3);
    late.endIs(5 + 10);
    // Tasks behind a full batch wait for 22 ms more.
    const behind = backlog(single(), [5]);
    behind.wait(4, 30 * MS);
    behind.wait(3, 37 * MS - 1);
    behind.wait(3, 37 * MS);
    behind.endIs(5 + 22 + 10);
    behind.wait(1, 37 * MS);
    behind.endIs(5 + 44 + 10);
  });

  it('counts, under the rule full-batch, the time of the batch that the task would share with those that wait', () => {
    const rule = { kind: 'full-batch', share: 1 } as const;
    const { wait, endIs } = backlog(single(), [5], rule);
    endIs(5 + 10);
    endIs(5 + 18, { ahead: 2 });
    wait(1);
    endIs(5 + 14);
    wait(1);
    endIs(5 + 22, { ahead: 1 });
    // Each of the four that wait is judged in a batch of four.
    for (const [latestMs, endMs] of [
      [27, 5 + 22 + 22],
      [27 - 1e-6, 5 + 22],
    ] as const) {
      const four = backlog(single(), [5], rule);
      four.wait(4, latestMs * MS);
      four.endIs(endMs);
    }
    // The two that wait are judged in a batch of two; two that come later fill it up.
    const two = backlog(single(), [5], rule);
    two.wait(2, (5 + 14) * MS);
    two.endIs(5 + 22 + 22, { ahead: 2 });
  });

  it('continues where it stopped as tasks come, and starts over when another change is reported', () => {
    const { waiting, wait, log, endIs, freeMs } = backlog(single(), [5]);
    const [first] = wait(3);
    endIs(5 + 10);
    wait(1);
    endIs(5 + 22 + 10);
    wait(1);
    endIs(5 + 22 + 10, { ahead: 2 });
    // The backlog was not told that the device will be busy longer, nor that a task has left.
    freeMs[0] = 50;
    waiting.queues.remove(0, first!);
    endIs(5 + 22 + 10);
    log.changed(0);
    // Four are left: they take 50 + 22 ms, and the next batch is empty.
    endIs(50 + 22 + 10, { ahead: 3 });
    endIs(50 + 44 + 10, { ahead: 4 });
  });

  it('starts over only in the pool that was reported to have changed', () => {
    const { waiting, log, endIs, freeMs } = backlog(
      modelOf(
        1000,
        { throughputRps: 100, parts: [stage(FOUR)] },
        { throughputRps: 100, parts: [stage(FOUR)] },
      ),
      [5, 7],
    );
    waiting.add(0, FAR);
    // The task would end at the earlier of 5 + 10 and 7 + 10 ms.
    endIs(5 + 10);
    freeMs[0] = 50;
    freeMs[1] = 60;
    log.changed(0);
    endIs(7 + 10);
    log.changed(1);
    endIs(50 + 10);
  });
});

describe('Backlog.isTooLong() over several stages', () => {
  /**
   * The first stage takes at most four tasks in up to 22 ms, and 1 ms per row to send. The second takes at most two in
   * 6 or 8 ms.
   */
  const twoStages = chainOf(1000, stage(FOUR, { transferBytes: BYTES_PER_MS }), stage([6, 8]));

  it('expects a task to end after the times of both stages and the transfer between them', () => {
    const { endIs } = backlog(twoStages, [5, 0]);
    endIs(5 + 10 + 1 + 6);
  });

  it('counts at the second stage the tasks in its own queue and in the queue before it', () => {
    // The first stage begins a full batch at 5 ms. The task behind that batch is sent on at 27 + 10 ms and is there at
    // 38 ms.
    for (const [freeMs, endMs] of [
      // One task is there and four come: two full batches of 8 ms go before.
      [20, 38 + 6],
      [22, 38 + 6],
      [23, 39 + 6],
      [30, 46 + 6],
    ] as const) {
      const { wait, endIs } = backlog(twoStages, [5, freeMs]);
      wait(4);
      wait(1, FAR, 1);
      endIs(endMs);
    }
    // Tasks that will come before count as well: five and two make three full batches.
    const { wait, endIs } = backlog(twoStages, [5, 30]);
    wait(4);
    wait(1, FAR, 1);
    endIs(30 + 24 + 6, { ahead: 2 });
  });

  it('counts at the second stage only tasks that the first will serve in time', () => {
    const { wait, endIs } = backlog(twoStages, [5, 30]);
    // Alone, a task has executed in the first stage at 15 ms, and the transfer and the second stage take 7 ms.
    wait(2, 22 * MS - 1);
    wait(1, 22 * MS);
    wait(1, FAR, 1);
    endIs(30 + 8 + 6);
  });

  it('forgets the tasks of the first queue when that has changed', () => {
    const { waiting, wait, log, endIs } = backlog(twoStages, [5, 30]);
    const tasks = wait(3);
    wait(1, FAR, 1);
    // Three tasks and one make two full batches.
    endIs(30 + 16 + 6);
    for (const task of tasks) waiting.queues.remove(0, task);
    log.changed(0);
    endIs(30 + 6);
  });

  it('is false where the second stage is free when the task arrives, to the nanosecond', () => {
    const { isTooLong } = backlog(twoStages, [0, 11]);
    expect(isTooLong(0)).toBe(false);
    backlog(twoStages, [0, 12]).endIs(12 + 6);
  });

  it('sends on no more rows of a batch than the next stage takes at once', () => {
    const rule = { kind: 'full-batch', share: 1 } as const;
    // Seven tasks come before: one full batch goes first, then the task's own of four, the first two rows of which go
    // on together.
    const { endIs } = backlog(twoStages, [5, 0], rule);
    endIs(5 + 22 + (22 + 4) + 8, { ahead: 7 });
    // A third stage that takes four may join the rows that the second sends in parts.
    const three = chainOf(
      1000,
      stage(FOUR, { transferBytes: BYTES_PER_MS }),
      stage([6, 8], { transferBytes: BYTES_PER_MS }),
      stage([1, 2, 3, 4]),
    );
    backlog(three, [5, 0, 0], rule).endIs(5 + 22 + (22 + 4) + (8 + 2) + 4, { ahead: 7 });
  });
});

describe('Backlog.isTooLong() over several pipelines', () => {
  const two = modelOf(
    1000,
    { throughputRps: 200, parts: [stage(FOUR)] },
    { throughputRps: 100, parts: [stage(FOUR)] },
  );

  it('is true only where the wait is too long in every pipeline', () => {
    const { wait, endIs } = backlog(two, [5, 7]);
    endIs(5 + 10);
    wait(4);
    // In the first pipeline the task would end at 27 + 10 ms.
    endIs(7 + 10);
    // A pipeline with a free device is enough.
    expect(backlog(two, [5, 0]).isTooLong(0)).toBe(false);
    expect(backlog(two, [0, 5]).isTooLong(0)).toBe(false);
  });

  it('gives each pipeline its planned share of the tasks that come before, rounded down', () => {
    // The first pipeline gets 7.33 of 11, which is one full batch; the second gets 3.67, which is none.
    backlog(two, [5, 500]).endIs(5 + 22 + 10, { ahead: 11 });
    backlog(two, [500, 5]).endIs(5 + 10, { ahead: 11 });
    // The first pipeline gets 8 of 12, the second 4.
    backlog(two, [5, 500]).endIs(5 + 44 + 10, { ahead: 12 });
    backlog(two, [500, 5]).endIs(5 + 22 + 10, { ahead: 12 });
  });

  it('shares the tasks that come before among only the pipelines that it is asked about', () => {
    const { log } = backlog(two, [5, undefined]);
    // All eleven go to the first pipeline and make two full batches.
    expect(log.isTooLong(0, [0], 11, (5 + 44 + 10) * MS)).toBe(false);
    expect(log.isTooLong(0, [0], 11, (5 + 44 + 10) * MS - 1)).toBe(true);
  });
});
