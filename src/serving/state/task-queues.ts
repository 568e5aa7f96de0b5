import { Lists, NONE as SHARED_NONE } from '../../collections/index.js';
import type { Requests } from './requests.js';

const NONE = SHARED_NONE;

/**
 * QueueOrder says in which order a queue is served. Tasks that rank equally are served in the order they
 * came.
 */
export type QueueOrder = { kind: 'fifo' } | { kind: 'deadline' };

/**
 * RANKS ranks a task under each order: it is served before tasks that rank higher. A task is ranked when it comes and keeps
 * its rank, so that an order which changes with the load needs queues that are ordered anew.
 */
export const RANKS: { readonly [K in QueueOrder['kind']]: (requests: Requests, task: number) => number } = {
  fifo: (requests, task) => requests.queuedAt(task),
  deadline: (requests, task) => requests.deadlineOfTask(task),
};

/** TaskQueues holds the queues in which tasks wait, in the order of a policy. */
export class TaskQueues extends Lists {
  private readonly rank: (typeof RANKS)[QueueOrder['kind']];
  private readonly slackNs: number;

  constructor(
    queues: number,
    private readonly requests: Requests,
    { order, slackNs }: { readonly order: QueueOrder; readonly slackNs: number },
  ) {
    super(queues);
    this.rank = RANKS[order.kind];
    this.slackNs = slackNs;
  }

  /**
   * insert puts a task in its place, behind tasks that rank equally. It takes constant time where all SLOs
   * are equal.
   * @returns whether the task is now the last of its queue
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

  /** latestEnd is the latest instant at which a task may end: its deadline less `slackNs`. */
  latestEnd(task: number): number {
    return this.requests.deadlineOfTask(task) - this.slackNs;
  }

  /**
   * isAlone tells whether a task was in a batch that failed or was lost as it ran, and is therefore tried alone: it
   * may be what failed the batch.
   */
  isAlone(task: number): boolean {
    return this.requests.triesOf(task) > 0;
  }
}
