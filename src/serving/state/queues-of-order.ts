import { brokenPromise } from '../broken-promise.js';
import { BudgetQueues } from './budget-queues.js';
import type { Requests } from './requests.js';
import { RANKS, TaskQueues } from './task-queues.js';
import type { ListOrder, QueueOrder, WaitingTasks } from './waiting-tasks.js';
import { MOST_LEVELS, WeighedQueues, type WeighedQueuesParts } from './weighed-queues.js';

/** isListOrder returns whether the tasks of an order can be walked along from the first on. */
export function isListOrder(order: QueueOrder): order is ListOrder {
  return order.kind in RANKS;
}

/** WeighingOptions says how fast queues are served, and how far ahead deadlines are. */
export type WeighingOptions = Pick<WeighedQueuesParts, 'paceOf' | 'longestSloNs'>;

/** QueueOptions says in which order tasks are served, and how much of every deadline is kept free. */
export interface QueueOptions {
  readonly order: QueueOrder;
  readonly slackNs: number;
  /** isOverloaded returns whether more comes than can be served where a queue stands; only the order `adaptive` asks. */
  readonly isOverloaded: (queue: number) => boolean;
}

/** weighedQueues makes queues of an order that weigh their tasks. */
export function weighedQueues(
  queues: number,
  requests: Requests,
  { isOverloaded, paceOf, longestSloNs, ...options }: QueueOptions & WeighingOptions,
): WeighedQueues {
  const all = waitingTasks(queues, requests, { ...options, isOverloaded });
  const byLevel = waitingTasks(queues * MOST_LEVELS, requests, {
    ...options,
    isOverloaded: (list) => isOverloaded(Math.floor(list / MOST_LEVELS)),
  });
  return new WeighedQueues({ requests, all, byLevel, paceOf, longestSloNs });
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
  if (queues instanceof WeighedQueues) return listsOf(queues.all);
  throw brokenPromise('queues that are served from either end cannot be walked along');
}
