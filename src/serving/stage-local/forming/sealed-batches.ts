import { grownCapacity, grownColumn, NONE as SHARED_NONE } from '../../../collections/index.js';
import { listsOf, type PlanColumns, type Requests, type TaskQueues } from '../../state/index.js';
import type { SharedState } from '../shared-state.js';

const NONE = SHARED_NONE;

const NOW = Number.NEGATIVE_INFINITY;

/**
 * SealedBatches is the Formation that puts tasks into batches as they come to a queue, in their order:
 * sealed. A batch takes tasks until it is as large as planned, or until `timeoutNs` have passed since its
 * first one came; one that comes at that very instant is still taken. A task that leaves an open batch makes
 * no room in it. A task that is placed anew has come anew, so that the tasks of a batch always stand behind
 * one another. A change takes constant time, and a size a pass over the batch.
 */
export class SealedBatches {
  readonly waitsLonger = false;

  private readonly columns: PlanColumns;
  private readonly requests: Requests;
  private readonly queues: TaskQueues;
  /** By task, the number of its batch in its queue. */
  private batchOf = new Int32Array(0);
  /** By queue, the number of the batch that was begun last, how many tasks it has had, and when the first one came. */
  private readonly last: Int32Array;
  private readonly sizes: Int32Array;
  private readonly begunAt: Float64Array;
  /** By queue, whether the batch that was begun last takes no more tasks, however few it has. */
  private readonly isClosed: Uint8Array;

  constructor(
    private readonly timeoutNs: number,
    { columns, requests, queues }: Pick<SharedState, 'columns' | 'requests' | 'queues'>,
  ) {
    this.columns = columns;
    this.requests = requests;
    this.queues = listsOf(queues);
    this.last = new Int32Array(queues.count);
    this.sizes = new Int32Array(queues.count);
    this.begunAt = new Float64Array(queues.count);
    this.isClosed = new Uint8Array(queues.count).fill(1);
  }

  entering(at: number, queue: number, task: number): void {
    this.requests.setQueuedAt(task, at);
    const isAlone = this.queues.isAlone(task);
    if (isAlone || !this.hasRoom(at, queue, task)) {
      this.last[queue]! += 1;
      this.sizes[queue] = 0;
      this.begunAt[queue] = at;
      this.isClosed[queue] = isAlone ? 1 : 0;
    }
    this.sizes[queue]! += 1;
    if (task >= this.batchOf.length)
      this.batchOf = grownColumn(this.batchOf, grownCapacity(this.batchOf.length, task + 1));
    this.batchOf[task] = this.last[queue] as number;
  }

  /** hasRoom returns whether the batch that was begun last in a queue takes one task more. */
  private hasRoom(at: number, queue: number, task: number): boolean {
    if (this.isClosed[queue] === 1) return false;
    if ((this.sizes[queue] as number) >= this.planned(this.requests.poolOf(task))) return false;
    const sealedAt = (this.begunAt[queue] as number) + this.timeoutNs;
    return at < sealedAt || (at === sealedAt && this.waits(queue));
  }

  /** waits returns whether a task of the batch that was begun last has not been taken. */
  private waits(queue: number): boolean {
    const task = this.queues.last(queue);
    return task !== NONE && this.batchOf[task] === this.last[queue];
  }

  size(_start: number, queue: number, pool: number): number {
    const { queues, batchOf } = this;
    const first = queues.first(queue);
    const most = Math.min(this.planned(pool), queues.size(queue));
    let size = 1;
    for (let task = queues.next(first); size < most && batchOf[task] === batchOf[first]; size++)
      task = queues.next(task);
    return size;
  }

  waitUntil(queue: number, pool: number): number {
    const isLast = this.batchOf[this.queues.first(queue)] === this.last[queue];
    if (!isLast || this.isClosed[queue] === 1 || (this.sizes[queue] as number) >= this.planned(pool))
      return NOW;
    return (this.begunAt[queue] as number) + this.timeoutNs;
  }

  private planned(pool: number): number {
    return this.columns.batch[pool] as number;
  }
}
