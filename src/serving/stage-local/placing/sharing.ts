import { NONE as SHARED_NONE } from '../../../collections/index.js';
import type { PlanColumns, Requests, WaitingTasks } from '../../state/index.js';
import type { SharingRule } from '../policy.js';
import type { SharedState } from '../shared-state.js';
import type { QueueSet } from './queue-set.js';

const NONE = SHARED_NONE;

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Sharing says which queue is served first where devices serve several pools (SharingRule). A turn costs time by the
 * queues that something happened to.
 */
export class Sharing {
  private readonly queues: WaitingTasks;
  private readonly columns: PlanColumns;
  private readonly requests: Requests;
  /** `lastTurn` is the number of the turn in which each queue last started a batch. */
  private readonly lastTurn: Float64Array;
  private turns = 0;

  constructor(
    private readonly rule: SharingRule,
    { queues, columns, requests }: Pick<SharedState, 'queues' | 'columns' | 'requests'>,
  ) {
    this.queues = queues;
    this.columns = columns;
    this.requests = requests;
    this.lastTurn = new Float64Array(queues.count);
  }

  /** next is the queue of a set that is served first, the lowest of several that rank equally; NONE where it is empty. */
  next(touched: QueueSet): number {
    let best = NONE;
    let least = NEVER;
    for (let queue = touched.next(0); queue !== NONE; queue = touched.next(queue + 1)) {
      const rank = this.rank(queue);
      if (best !== NONE && rank >= least) continue;
      best = queue;
      least = rank;
    }
    return best;
  }

  /** started reports that a queue has started a batch in its turn. */
  started(queue: number): void {
    this.lastTurn[queue] = ++this.turns;
  }

  /** rank is smaller for a queue that is served before another. */
  private rank(queue: number): number {
    const head = this.queues.first(queue);
    if (head === NONE) return NEVER;
    switch (this.rule.kind) {
      case 'oldest-deadline':
        return this.requests.deadlineOfTask(head);
      case 'round-robin':
        return this.lastTurn[queue] as number;
      case 'fullest': {
        const pool = this.requests.poolOf(head);
        const batch = pool === NONE ? 1 : (this.columns.batch[pool] as number);
        return -this.queues.size(queue) / batch;
      }
    }
  }
}
