import { MinMaxHeaps } from '../../collections/index.js';
import type { Requests } from './requests.js';
import type { WaitingTasks } from './waiting-tasks.js';

/** BudgetQueuesOptions says from which end queues are served, and how much of every deadline is kept free. */
export interface BudgetQueuesOptions {
  readonly slackNs: number;
  /** servesMost tells whether a queue is served from the end of the most remaining budget now. */
  readonly servesMost: (queue: number) => boolean;
}

/**
 * BudgetQueues holds queues by the remaining budgets of their tasks, which their deadlines order, and serves them from either
 * end (PARD §4.3). Of tasks with one deadline, the first that came has the least budget, and the last the most. A change
 * costs O(log n).
 */
export class BudgetQueues implements WaitingTasks {
  private readonly heaps: MinMaxHeaps;

  constructor(
    readonly count: number,
    private readonly requests: Requests,
    private readonly options: BudgetQueuesOptions,
  ) {
    this.heaps = new MinMaxHeaps(count);
  }

  size(queue: number): number {
    return this.heaps.size(queue);
  }

  first(queue: number): number {
    return this.options.servesMost(queue) ? this.heaps.last(queue) : this.heaps.first(queue);
  }

  mostUrgent(queue: number): number {
    return this.heaps.first(queue);
  }

  /** insert tells that the task is not the last of its queue: no place in it is a task's for good. */
  insert(queue: number, task: number): boolean {
    this.heaps.insert(queue, task, this.requests.deadlineOfTask(task));
    return false;
  }

  remove(queue: number, task: number): void {
    this.heaps.remove(queue, task);
  }

  latestEnd(task: number): number {
    return this.requests.deadlineOfTask(task) - this.options.slackNs;
  }

  isAlone(task: number): boolean {
    return this.requests.triesOf(task) > 0;
  }
}
