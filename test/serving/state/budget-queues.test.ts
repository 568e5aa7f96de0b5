import { describe, expect, it } from 'vitest';
import { streamOf } from '../../../src/random/index.js';
import { BudgetQueues } from '../../../src/serving/state/budget-queues.js';
import { Flows } from '../../../src/serving/state/flows.js';
import { DagColumns, Requests, TaskQueues } from '../../../src/serving/state/index.js';
import { isListOrder, listsOf, waitingTasks } from '../../../src/serving/state/queues-of-order.js';
import type { Routed } from '../../../src/serving/topology.js';
import { seeds } from '../../cases.js';

const taskOf = (requests: Requests, deadline: number) => requests.firstTask(requests.add(0, deadline, 1));

describe('BudgetQueues', () => {
  it('serves the end that it is asked to, and knows the least budget throughout', () => {
    const requests = new Requests();
    let servesMost = false;
    const queues = new BudgetQueues(2, requests, {
      slackNs: 3,
      servesMost: (queue) => queue === 1 && servesMost,
    });
    const [late, soon, soonToo, lateToo] = [9, 5, 5, 9].map((deadline) => taskOf(requests, deadline));
    for (const task of [late, soon, soonToo, lateToo]) expect(queues.insert(1, task!)).toBe(false);
    expect([queues.first(0), queues.mostUrgent(0), queues.size(0), queues.size(1)]).toEqual([-1, -1, 0, 4]);
    expect([queues.first(1), queues.mostUrgent(1)]).toEqual([soon, soon]);
    servesMost = true;
    // Of equal budgets, the most is that of the last to come.
    expect([queues.first(1), queues.mostUrgent(1)]).toEqual([lateToo, soon]);
    queues.remove(1, lateToo!);
    queues.remove(1, soon!);
    expect([queues.first(1), queues.mostUrgent(1), queues.size(1)]).toEqual([late, soonToo, 2]);
    expect(queues.latestEnd(soonToo!)).toBe(2);
  });

  it('has its ends where a sorted list has them, through any coming and going', () => {
    for (const seed of seeds(20, 300)) {
      const stream = streamOf(seed, 'budgets');
      const requests = new Requests();
      const queues = new BudgetQueues(1, requests, { slackNs: 0, servesMost: () => true });
      const list: { task: number; deadline: number }[] = [];
      for (let i = 0; i < 300; i++) {
        if (list.length === 0 || stream.uniform() < 0.55) {
          const deadline = stream.integer(20);
          const task = taskOf(requests, deadline);
          const behind = list.findIndex((one) => one.deadline > deadline);
          list.splice(behind < 0 ? list.length : behind, 0, { task, deadline });
          queues.insert(0, task);
        } else queues.remove(0, list.splice(stream.integer(list.length), 1)[0]!.task);
        expect([queues.mostUrgent(0), queues.first(0), queues.size(0)]).toEqual([
          ...[list[0]?.task ?? -1, list.at(-1)?.task ?? -1, list.length],
        ]);
      }
    }
  });

  it('serves first of the most budgets what a parallel stage has taken on, and from the other end as ever', () => {
    // Two stages begin side by side, and a third joins them; of those in the second, 0 is parallel.
    const pools = [[2], [2], []].map((to, partition) => ({
      model: 0,
      stage: { kind: 'partition', pipeline: 0, partition },
      edges: to.map((stage) => ({ to: stage, when: { kind: 'always' } })),
    }));
    const graph = new DagColumns({ pools, routes: { kind: 'dag' } } as unknown as Routed);
    expect([0, 1, 2].map((pool) => graph.parallelTo(pool))).toEqual([[1], [0], []]);
    const flows = new Flows(graph);
    const requests = new Requests(flows);
    let servesMost = true;
    const queues = new BudgetQueues(1, requests, { slackNs: 0, servesMost: () => servesMost });
    const tasks = [1, 2, 3, 4].map((deadline) => {
      const task = taskOf(requests, deadline);
      requests.setFlow(task, flows.open(0, 0));
      requests.setPool(task, 1);
      return task;
    });
    const [first, second, third, fourth] = tasks as [number, number, number, number];
    // One was taken on before it came, and one while it waited.
    flows.setBegunBeside(requests.flowOf(first), 1);
    for (const task of tasks) queues.insert(0, task);
    expect([queues.first(0), queues.mostUrgent(0)]).toEqual([first, first]);
    flows.setBegunBeside(requests.flowOf(second), 1);
    queues.begunBeside(0, second);
    expect([queues.first(0), queues.mostUrgent(0)]).toEqual([second, first]);
    servesMost = false;
    expect(queues.first(0)).toBe(first);
    servesMost = true;
    queues.remove(0, second);
    queues.remove(0, first);
    expect([queues.first(0), queues.mostUrgent(0), queues.size(0)]).toEqual([fourth, third, 2]);
    // A slot that is used again has not been begun beside.
    flows.close(requests.flowOf(first));
    expect(flows.isBegunBeside(flows.open(0, 0), 1)).toBe(false);
  });

  it('says which task is tried alone', () => {
    const requests = new Requests();
    const queues = new BudgetQueues(1, requests, { slackNs: 0, servesMost: () => false });
    const task = taskOf(requests, 1);
    expect(queues.isAlone(task)).toBe(false);
    requests.loseTask(task, 1);
    expect(queues.isAlone(task)).toBe(true);
  });
});

describe('waitingTasks()', () => {
  const requests = new Requests();
  const of = (kind: 'fifo' | 'deadline' | 'latest-deadline', isOverloaded = false) =>
    waitingTasks(1, requests, { order: { kind }, slackNs: 0, isOverloaded: () => isOverloaded });
  const adaptive = (isOverloaded: boolean) =>
    waitingTasks(1, requests, {
      order: { kind: 'adaptive', transition: 'delayed' },
      slackNs: 0,
      isOverloaded: () => isOverloaded,
    });

  it('serves by the order: of arrival, by the least budget, by the most, or as the load asks', () => {
    const tasks = [7, 5, 9].map((deadline, i) => {
      const task = taskOf(requests, deadline);
      requests.setQueuedAt(task, i);
      return task;
    });
    const firsts = [of('fifo'), of('deadline'), of('latest-deadline'), adaptive(false), adaptive(true)].map(
      (queues) => {
        for (const task of tasks) queues.insert(0, task);
        return queues.first(0);
      },
    );
    expect(firsts).toEqual([tasks[0], tasks[1], tasks[2], tasks[1], tasks[2]]);
  });

  it('gives lists of the orders that never change, and refuses to walk along the others', () => {
    expect(isListOrder({ kind: 'fifo' })).toBe(true);
    expect(isListOrder({ kind: 'adaptive', transition: 'instant' })).toBe(false);
    expect(listsOf(of('deadline'))).toBeInstanceOf(TaskQueues);
    expect(() => listsOf(of('latest-deadline'))).toThrow(/from either end/);
  });
});
