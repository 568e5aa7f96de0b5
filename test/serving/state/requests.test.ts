import { describe, expect, it } from 'vitest';
import { NONE } from '../../../src/collections/index.js';
import { Requests, TaskState } from '../../../src/serving/state/requests.js';

function tasksOf(requests: Requests, request: number): number[] {
  const tasks: number[] = [];
  for (let task = requests.first(request); task !== NONE; task = requests.nextOf(task)) tasks.push(task);
  return tasks;
}

/** All that is known of a request and of its first task. */
function known(requests: Requests, request: number) {
  const task = requests.first(request);
  return {
    model: requests.model[request],
    deadline: requests.deadline[request],
    settled: requests.settled[request],
    strict: requests.strict[request],
    missed: requests.missed[request],
    tried: requests.tried[request],
    left: requests.left[request],
    out: requests.out[request],
    request: requests.request[task],
    state: requests.state[task],
    pool: requests.pool[task],
    entry: requests.entry[task],
    tries: requests.tries[task],
    late: requests.late[task],
  };
}

const FRESH = {
  settled: 0,
  strict: 0,
  missed: 0,
  tried: 0,
  out: 0,
  state: TaskState.ended,
  pool: NONE,
  entry: NONE,
  tries: 0,
  late: 0,
};

function end(requests: Requests, request: number): void {
  requests.settled[request] = 1;
  requests.retire(request);
}

describe('Requests', () => {
  it('add() gives a request with a task per row, from the last to the first', () => {
    const requests = new Requests();
    const one = requests.add(3, 500, 2);
    const other = requests.add(4, 600, 1);
    expect([requests.requestCount, requests.taskCount]).toEqual([2, 3]);
    expect(tasksOf(requests, one)).toEqual([1, 0]);
    expect(tasksOf(requests, other)).toEqual([2]);
    expect(known(requests, one)).toEqual({ ...FRESH, model: 3, deadline: 500, left: 2, request: one });
    expect(known(requests, other)).toEqual({ ...FRESH, model: 4, deadline: 600, left: 1, request: other });
  });

  it('add() remembers nothing of whom the numbers were before', () => {
    const requests = new Requests();
    const request = requests.add(1, 100, 1);
    const task = requests.first(request);
    for (const column of ['strict', 'missed', 'tried'] as const) requests[column][request] = 1;
    for (const column of ['state', 'pool', 'entry', 'tries', 'late'] as const) requests[column][task] = 1;
    end(requests, request);
    requests.flush();
    requests.out[request] = 5;
    expect(requests.add(2, 200, 1)).toBe(request);
    expect(known(requests, request)).toEqual({ ...FRESH, model: 2, deadline: 200, left: 1, request });
    expect(tasksOf(requests, request)).toEqual([task]);
  });

  it('retire() takes only requests that have their outcome and nothing out', () => {
    const requests = new Requests();
    const request = requests.add(0, 0, 1);
    expect(() => requests.retire(request)).toThrow('retired before its end');
    requests.settled[request] = 1;
    requests.out[request] = 1;
    expect(() => requests.retire(request)).toThrow('retired before its end');
    requests.out[request] = 0;
    requests.retire(request);
  });

  it('flush() gives back the numbers of what has retired, and not before', () => {
    const requests = new Requests();
    const [one, other] = [requests.add(0, 0, 3), requests.add(0, 0, 2)];
    end(requests, one);
    expect([requests.requestCount, requests.taskCount]).toEqual([2, 5]);
    expect(requests.add(0, 0, 1)).toBe(2);
    requests.flush();
    expect([requests.requestCount, requests.taskCount]).toEqual([2, 3]);
    // Once and for all.
    requests.flush();
    expect([requests.requestCount, requests.taskCount]).toEqual([2, 3]);
    expect(requests.add(0, 0, 1)).toBe(one);
    expect(requests.add(0, 0, 1)).toBe(3);
    expect(other).toBe(1);
  });

  it('flush() gives back however many have retired since the last', () => {
    const requests = new Requests();
    const all = Array.from({ length: 40 }, () => requests.add(0, 0, 2));
    for (const request of all) end(requests, request);
    requests.flush();
    expect([requests.requestCount, requests.taskCount]).toEqual([0, 0]);
    const again = Array.from({ length: 40 }, () => requests.add(0, 0, 2));
    expect(again.sort((a, b) => a - b)).toEqual(all);
  });

  it('keeps everything while it makes room for more', () => {
    const requests = new Requests();
    const requestColumns = ['settled', 'strict', 'missed', 'tried', 'out'] as const;
    const taskColumns = ['state', 'pool', 'entry', 'queuedAt', 'tries', 'late'] as const;
    for (let i = 0; i < 70; i++) {
      const request = requests.add(i, 1000 + i, 2);
      for (const column of requestColumns) requests[column][request] = i;
      for (const task of tasksOf(requests, request))
        for (const column of taskColumns) requests[column][task] = task;
    }
    for (let i = 0; i < 70; i++) {
      expect([requests.model[i], requests.deadline[i], requests.left[i]]).toEqual([i, 1000 + i, 2]);
      expect(requestColumns.map((column) => requests[column][i])).toEqual([i, i, i, i, i]);
      expect(tasksOf(requests, i)).toEqual([2 * i + 1, 2 * i]);
      for (const task of tasksOf(requests, i)) {
        expect(requests.request[task]).toBe(i);
        expect(taskColumns.map((column) => requests[column][task])).toEqual(new Array(6).fill(task));
      }
    }
  });
});
