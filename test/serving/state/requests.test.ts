import { describe, expect, it } from 'vitest';
import { NONE } from '../../../src/collections/index.js';
import { Requests } from '../../../src/serving/state/requests.js';

function tasksOf(requests: Requests, request: number): number[] {
  const tasks: number[] = [];
  for (let task = requests.firstTask(request); task !== NONE; task = requests.nextTask(task))
    tasks.push(task);
  return tasks;
}

/** All that can be read of a request and of its first task. */
function known(requests: Requests, request: number) {
  const task = requests.firstTask(request);
  return {
    model: requests.modelOf(request),
    deadline: requests.deadlineOf(request),
    settled: requests.isSettled(request),
    strict: requests.isStrict(request),
    missed: requests.isMissed(request),
    failed: requests.hasFailed(request),
    lost: requests.wasLost(request),
    request: requests.requestOf(task),
    queued: requests.isQueued(task),
    inBatch: requests.isInBatch(task),
    pool: requests.poolOf(task),
    entry: requests.entryOf(task),
    tries: requests.triesOf(task),
    late: requests.isLate(task),
  };
}

const FRESH = {
  settled: false,
  strict: false,
  missed: false,
  failed: false,
  lost: false,
  queued: false,
  inBatch: false,
  pool: NONE,
  entry: NONE,
  tries: 0,
  late: false,
};

function end(requests: Requests, request: number): void {
  requests.settle(request);
  requests.retireIfDone(request);
}

describe('Requests', () => {
  it('keeps the weight of each request, in slots that are used again too', () => {
    const requests = new Requests();
    const light = requests.add(0, 500, 1);
    const heavy = requests.add(0, 500, 1);
    requests.setWeight(heavy, 2.5);
    expect([requests.weightOf(light), requests.weightOf(heavy)]).toEqual([1, 2.5]);
    end(requests, heavy);
    requests.flush();
    expect(requests.add(0, 500, 1)).toBe(heavy);
    expect(requests.weightOf(heavy)).toBe(1);
    expect(requests.weightOf(light)).toBe(1);
  });

  it('add() makes a request with a task per row, listed from the last to the first', () => {
    const requests = new Requests();
    const one = requests.add(3, 500, 2);
    const other = requests.add(4, 600, 1);
    expect([requests.requestCount, requests.taskCount]).toEqual([2, 3]);
    expect(tasksOf(requests, one)).toEqual([1, 0]);
    expect(tasksOf(requests, other)).toEqual([2]);
    expect(known(requests, one)).toEqual({ ...FRESH, model: 3, deadline: 500, request: one });
    expect(known(requests, other)).toEqual({ ...FRESH, model: 4, deadline: 600, request: other });
  });

  it('add() keeps nothing of the request that had the number before', () => {
    const requests = new Requests();
    const request = requests.add(1, 100, 1);
    const task = requests.firstTask(request);
    requests.setStrict(request);
    requests.setMissed(request);
    requests.setPool(task, 1);
    requests.setEntry(task, 1);
    requests.setLate(task, true);
    requests.loseTask(task, 1);
    requests.failTask(task);
    expect(known(requests, request)).toMatchObject({
      strict: true,
      missed: true,
      failed: true,
      lost: true,
      pool: 1,
      tries: 2,
    });
    end(requests, request);
    requests.flush();
    expect(requests.add(2, 200, 1)).toBe(request);
    expect(known(requests, request)).toEqual({ ...FRESH, model: 2, deadline: 200, request });
    expect(tasksOf(requests, request)).toEqual([task]);
  });

  it('retireIfDone() refuses a request without an outcome, and waits for its tasks in batches', () => {
    const requests = new Requests();
    const request = requests.add(0, 0, 2);
    expect(() => requests.retireIfDone(request)).toThrow('retired before its end');
    const [one, other] = tasksOf(requests, request) as [number, number];
    requests.enterBatch(one);
    requests.enterBatch(other);
    requests.leaveBatch(one);
    end(requests, request);
    requests.flush();
    expect(requests.requestCount).toBe(1);
    requests.leaveBatch(other);
    requests.retireIfDone(request);
    requests.flush();
    expect(requests.requestCount).toBe(0);
  });

  it('endTask() distinguishes the last task of a request from the others', () => {
    const requests = new Requests();
    const request = requests.add(0, 0, 3);
    expect([1, 2, 3].map(() => requests.endTask(request))).toEqual([false, false, true]);
  });

  it('loseTask() counts a try only where the batch had begun', () => {
    const requests = new Requests();
    const request = requests.add(0, 0, 1);
    const task = requests.firstTask(request);
    requests.loseTask(task, 0);
    expect([requests.triesOf(task), requests.wasLost(request)]).toEqual([0, false]);
    requests.loseTask(task, 1);
    requests.loseTask(task, 1);
    expect([requests.triesOf(task), requests.wasLost(request)]).toEqual([2, true]);
    expect(requests.hasFailed(request)).toBe(false);
  });

  it('failTask() counts a try, but does not mark the request as lost', () => {
    const requests = new Requests();
    const request = requests.add(0, 0, 1);
    const task = requests.firstTask(request);
    requests.failTask(task);
    expect([requests.triesOf(task), requests.hasFailed(request), requests.wasLost(request)]).toEqual([
      1,
      true,
      false,
    ]);
  });

  it('takes a task from its queue into a batch and out again', () => {
    const requests = new Requests();
    const task = requests.firstTask(requests.add(0, 0, 1));
    const states = () => [requests.isQueued(task), requests.isInBatch(task)];
    requests.enterQueue(task);
    expect(states()).toEqual([true, false]);
    requests.enterBatch(task);
    expect(states()).toEqual([false, true]);
    requests.leaveBatch(task);
    expect(states()).toEqual([false, false]);
    requests.enterQueue(task);
    requests.endWaiting(task);
    expect(states()).toEqual([false, false]);
  });

  it('flush() frees the numbers of retired requests, and nothing frees them before', () => {
    const requests = new Requests();
    const [one, other] = [requests.add(0, 0, 3), requests.add(0, 0, 2)];
    end(requests, one);
    expect([requests.requestCount, requests.taskCount]).toEqual([2, 5]);
    expect(requests.add(0, 0, 1)).toBe(2);
    requests.flush();
    expect([requests.requestCount, requests.taskCount]).toEqual([2, 3]);
    // A second flush frees nothing more.
    requests.flush();
    expect([requests.requestCount, requests.taskCount]).toEqual([2, 3]);
    expect(requests.add(0, 0, 1)).toBe(one);
    expect(requests.add(0, 0, 1)).toBe(3);
    expect(other).toBe(1);
  });

  it('flush() frees the numbers of any number of retired requests', () => {
    const requests = new Requests();
    const all = Array.from({ length: 40 }, () => requests.add(0, 0, 2));
    for (const request of all) end(requests, request);
    requests.flush();
    expect([requests.requestCount, requests.taskCount]).toEqual([0, 0]);
    const again = Array.from({ length: 40 }, () => requests.add(0, 0, 2));
    expect(again.sort((a, b) => a - b)).toEqual(all);
  });

  it('keeps everything when it grows for more', () => {
    const requests = new Requests();
    for (let i = 0; i < 70; i++) {
      const request = requests.add(i, 1000 + i, 2);
      if (i % 2 === 1) requests.setStrict(request);
      for (const task of tasksOf(requests, request)) {
        requests.setPool(task, task);
        requests.setEntry(task, 2 * task);
        requests.setQueuedAt(task, 3 * task);
        requests.setLate(task, task % 3 === 0);
        requests.loseTask(task, task % 5);
      }
    }
    for (let i = 0; i < 70; i++) {
      expect([requests.modelOf(i), requests.deadlineOf(i), requests.isStrict(i)]).toEqual([
        i,
        1000 + i,
        i % 2 === 1,
      ]);
      expect(tasksOf(requests, i)).toEqual([2 * i + 1, 2 * i]);
      for (const task of tasksOf(requests, i)) {
        expect(requests.requestOf(task)).toBe(i);
        expect([requests.poolOf(task), requests.entryOf(task), requests.queuedAt(task)]).toEqual([
          task,
          2 * task,
          3 * task,
        ]);
        expect([requests.isLate(task), requests.triesOf(task)]).toEqual([task % 3 === 0, task % 5]);
      }
    }
  });
});
