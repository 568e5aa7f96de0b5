import { brokenPromise } from '../broken-promise.js';
import { BudgetQueues } from './budget-queues.js';
import type { Requests } from './requests.js';
import { RANKS, TaskQueues } from './task-queues.js';
import type { ListOrder, QueueOrder, WaitingTasks } from './waiting-tasks.js';

/** isListOrder tells whether the tasks of an order can be walked along from the first on. */
export function isListOrder(order: QueueOrder): order is ListOrder {
  return order.kind in RANKS;
}

/** QueueOptions says in which order tasks are served, and how much of every deadline is kept free. */
export interface QueueOptions {
  readonly order: QueueOrder;
  readonly slackNs: number;
  /** isOverloaded tells whether more comes than can be served where a queue stands; only the order `adaptive` asks. */
  readonly isOverloaded: (queue: number) => boolean;
}

/** waitingTasks makes the queues of an order. */
export function waitingTasks(
  queues: number,
  requests: Requests,
  { order, slackNs, isOverloaded }: QueueOptions,
): WaitingTasks {
  switch (order.kind) {
    case 'fifo':
    case 'deadline':
      return new TaskQueues(queues, requests, { order, slackNs });
    case 'latest-deadline':
      return new BudgetQueues(queues, requests, { slackNs, servesMost: () => true });
    case 'adaptive':
      return new BudgetQueues(queues, requests, { slackNs, servesMost: isOverloaded });
  }
}

/**
 * listsOf gives queues as lists, for rules that look at more than the first task.
 * @throws the error of `brokenPromise` where their order changes: policies may not combine these (clashes)
 */
export function listsOf(queues: WaitingTasks): TaskQueues {
  if (queues instanceof TaskQueues) return queues;
  throw brokenPromise('queues that are served from either end cannot be walked along');
}
