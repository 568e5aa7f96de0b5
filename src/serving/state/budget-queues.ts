import { MinMaxHeaps } from '../../collections/index.js';
import type { Requests } from './requests.js';
import type { WaitingTasks } from './waiting-tasks.js';

/** BudgetQueuesOptions says from which end queues are served, and how much of every deadline is kept free. */
export interface BudgetQueuesOptions {
  readonly slackNs: number;
  /** servesMost returns whether a queue is served from the end of the most remaining budget now. */
  readonly servesMost: (queue: number) => boolean;
}

/**
 * BudgetQueues holds queues by the remaining budgets of their tasks, which their deadlines order, and serves them from either
 * end (PARD §4.3). Of tasks with one deadline, the first that came has the least budget, and the last the most. From the end of
 * the most, tasks go first of whose row a parallel stage has taken on its part, since else parallel stages would each serve the
 * parts of requests that the others do not, and the work be lost where they join. A change costs O(log n).
 */
export class BudgetQueues implements WaitingTasks {
  private readonly heaps: MinMaxHeaps;
  /**
   * A second heap of the tasks whose row a parallel stage has taken on its part; absent until there is such a
   * task.
   */
  private beside: MinMaxHeaps | undefined;

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
    if (!this.options.servesMost(queue)) return this.heaps.first(queue);
    const { beside = this.heaps } = this;
    return beside.size(queue) > 0 ? beside.last(queue) : this.heaps.last(queue);
  }

  mostUrgent(queue: number): number {
    return this.heaps.first(queue);
  }

  /** insert reports that the task is not the last of its queue: no place in it is a task's for good. */
  insert(queue: number, task: number): boolean {
    this.heaps.insert(queue, task, this.requests.deadlineOfTask(task));
    if (this.requests.isBegunBeside(task)) this.begunBeside(queue, task);
    return false;
  }

  begunBeside(queue: number, task: number): void {
    this.beside ??= new MinMaxHeaps(this.count);
    this.beside.insert(queue, task, this.requests.deadlineOfTask(task));
  }

  remove(queue: number, task: number): void {
    this.heaps.remove(queue, task);
    if (this.requests.isBegunBeside(task)) this.beside?.remove(queue, task);
  }

  latestEnd(task: number): number {
    return this.requests.deadlineOfTask(task) - this.options.slackNs;
  }

  isAlone(task: number): boolean {
    return this.requests.triesOf(task) > 0;
  }
}
