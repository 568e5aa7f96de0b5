import { Lists, NONE as SHARED_NONE } from '../../collections/index.js';
import type { Requests } from './requests.js';
import type { ListOrder, WaitingTasks } from './waiting-tasks.js';

const NONE = SHARED_NONE;

/** RANKS ranks a task under each order of lists: it is served before tasks that rank higher. */
export const RANKS: { readonly [K in ListOrder['kind']]: (requests: Requests, task: number) => number } = {
  fifo: (requests, task) => requests.queuedAt(task),
  deadline: (requests, task) => requests.deadlineOfTask(task),
};

/** TaskQueues holds queues as lists, in an order that never changes. */
export class TaskQueues extends Lists implements WaitingTasks {
  private readonly rank: (typeof RANKS)[ListOrder['kind']];
  private readonly slackNs: number;

  constructor(
    queues: number,
    private readonly requests: Requests,
    { order, slackNs }: { readonly order: ListOrder; readonly slackNs: number },
  ) {
    super(queues);
    this.rank = RANKS[order.kind];
    this.slackNs = slackNs;
  }

  mostUrgent(queue: number): number {
    return this.first(queue);
  }

  /**
   * insert puts a task in its place, behind tasks that rank equally. It takes constant time where all SLOs
   * are equal.
   */
  insert(queue: number, task: number): boolean {
    const last = this.last(queue);
    let before = last;
    const rank = this.rank(this.requests, task);
    while (before !== NONE && rank < this.rank(this.requests, before)) before = this.previous(before);
    const isLast = before === last;
    this.insertAfter(queue, before, task);
    return isLast;
  }

  latestEnd(task: number): number {
    return this.requests.deadlineOfTask(task) - this.slackNs;
  }

  isAlone(task: number): boolean {
    return this.requests.triesOf(task) > 0;
  }
}
