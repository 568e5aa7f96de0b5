import { describe, expect, it } from 'vitest';
import { NONE } from '../../../src/collections/index.js';
import { Requests, TaskQueues } from '../../../src/serving/state/index.js';
import { RANKS } from '../../../src/serving/state/task-queues.js';
import type { ListOrder } from '../../../src/serving/state/waiting-tasks.js';

function queuesOf(kind: ListOrder['kind'], slackNs = 0) {
  const requests = new Requests();
  const queues = new TaskQueues(2, requests, { order: { kind }, slackNs });
  const insert = (deadline: number, queuedAt: number, queue = 0) => {
    const task = requests.firstTask(requests.add(0, deadline, 1));
    requests.setQueuedAt(task, queuedAt);
    return { task, isLast: queues.insert(queue, task) };
  };
  const inOrder = (queue = 0) => {
    const tasks: number[] = [];
    for (let task = queues.first(queue); task !== NONE; task = queues.next(task)) tasks.push(task);
    return tasks;
  };
  return { requests, queues, insert, inOrder };
}

describe('TaskQueues', () => {
  it('insert() orders by deadline, with equals as they came, and says whether the task is the last', () => {
    const { insert, inOrder } = queuesOf('deadline');
    const isLast = [50, 30, 50, 40, 30, 60].map((deadline, i) => insert(deadline, 100 - i).isLast);
    expect(isLast).toEqual([true, false, true, false, false, true]);
    // The order is 30 (1, 4), 40 (3), 50 (0, 2), 60 (5).
    expect(inOrder()).toEqual([1, 4, 3, 0, 2, 5]);
  });

  it('insert() orders by the time of queueing under fifo, with equals as they came', () => {
    const { insert, inOrder } = queuesOf('fifo');
    const isLast = [5, 3, 5, 4, 3, 6].map((queuedAt, i) => insert(100 - i, queuedAt).isLast);
    expect(isLast).toEqual([true, false, true, false, false, true]);
    expect(inOrder()).toEqual([1, 4, 3, 0, 2, 5]);
  });

  it('insert() orders by whatever an entry of RANKS ranks by', () => {
    Object.assign(RANKS, { roomiest: (requests: Requests, task: number) => -requests.deadlineOfTask(task) });
    const { insert, inOrder } = queuesOf('roomiest' as ListOrder['kind']);
    const isLast = [50, 30, 50, 40, 30, 60].map((deadline) => insert(deadline, 0).isLast);
    expect(isLast).toEqual([true, true, false, false, true, false]);
    expect(inOrder()).toEqual([5, 0, 2, 3, 1, 4]);
  });

  it('insert() keeps queues apart', () => {
    const { insert, inOrder } = queuesOf('deadline');
    insert(50, 0, 0);
    expect(insert(40, 0, 1).isLast).toBe(true);
    expect([inOrder(0), inOrder(1)]).toEqual([[0], [1]]);
  });

  it('latestEnd() is the deadline of the request less the slack', () => {
    const { queues, insert } = queuesOf('deadline', 7);
    expect(queues.latestEnd(insert(50, 3).task)).toBe(43);
  });

  it('isAlone() once a task was in a batch that failed', () => {
    const { requests, queues, insert } = queuesOf('deadline');
    const { task } = insert(50, 0);
    expect(queues.isAlone(task)).toBe(false);
    requests.loseTask(task, 1);
    expect(queues.isAlone(task)).toBe(true);
  });
});
