import { Lists, NONE } from '../../collections/index.js';
import type { Requests } from './requests.js';

/** In which order a queue is served; equals in the order they came. */
export type QueueOrder = { kind: 'fifo' } | { kind: 'deadline' };

/** The queues that tasks wait in, in the order of a policy. */
export class TaskQueues extends Lists {
  constructor(
    queues: number,
    private readonly requests: Requests,
    private readonly policy: { readonly order: QueueOrder; readonly slackNs: number },
  ) {
    super(queues);
  }

  /** In its place, behind its equals; @returns whether that is the end. Constant for equal SLOs. */
  insert(queue: number, task: number): boolean {
    let before = this.last(queue);
    while (before !== NONE && this.isBefore(task, before)) before = this.previous(before);
    const isLast = before === this.last(queue);
    this.insertAfter(queue, before, task);
    return isLast;
  }

  /** The latest instant at which a task may end. */
  latestEnd(task: number): number {
    return this.requests.deadlineOf(this.requests.requestOf(task)) - this.policy.slackNs;
  }

  queuedAt(task: number): number {
    return this.requests.queuedAt(task);
  }

  /** It was in a failed batch, and is tried alone: it may be what failed it. */
  isAlone(task: number): boolean {
    return this.requests.triesOf(task) > 0;
  }

  private isBefore(task: number, other: number): boolean {
    switch (this.policy.order.kind) {
      case 'fifo':
        return this.queuedAt(task) < this.queuedAt(other);
      case 'deadline':
        return this.latestEnd(task) < this.latestEnd(other);
    }
  }
}
