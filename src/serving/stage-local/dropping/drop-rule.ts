import type { SharedState } from '../shared-state.js';
import type { RequestTimeouts } from './request-timeouts.js';

/** Dropping decides which heads of queues are given up (DropRule). */
export interface Dropping {
  /** drops says whether any head is ever given up. */
  readonly drops: boolean;
  /**
   * dropTime is the first instant (ns) at which a head is given up, whatever else happens: −Infinity is at once, and
   * Infinity is never. A rule that decides by `start` decides once.
   * @param at the time at which it is asked
   * @param pool the pool it waits for, NONE where that is not known because no device is up
   * @param start when a device begins its batch, Infinity where no device takes it now
   * @param device the device that it is bound to, or that would take it; NONE or left out where none is known, so that a task
   *   is given up only if it would be too late on the fastest
   */
  dropTime(at: number, head: number, pool: number, start: number, device?: number): number;
  /**
   * refuses returns whether the head is given up because of the tasks behind it in the queue, or because of
   * when the device of the pool begins.
   */
  refuses(at: number, start: number, queue: number, pool: number, device?: number): boolean;
  /**
   * forbids returns whether a head that was given up would be given up on a free device too. If so, the
   * expected times of the pool may be wrong.
   */
  forbids(at: number, head: number, pool: number, device?: number): boolean;
  /**
   * batchUnderLoad is the smallest batch that a task is expected to be served in, when as many tasks wait
   * behind it as are in the queue, and `more` besides.
   */
  batchUnderLoad(pool: number, more: number): number;
  /** mostInBatch is the largest batch of a pool while more tasks wait. It is absent where that is the planned batch. */
  mostInBatch?(pool: number): number;
  /** entered reports that a task has entered a queue. */
  entered(queue: number, task: number): void;
  /** waitedOn reports that a queue waits for company for its head. */
  waitedOn(queue: number, head: number): void;
  /** `hearing` hears of batches; it is absent where the rule does not depend on them. */
  readonly hearing?: BatchHearing;
  /** `timeouts` end requests wherever their tasks are; they are absent where the rule only looks at heads of queues. */
  readonly timeouts?: RequestTimeouts;
}

/** BatchHearing hears of every batch that a device begins, and once more when it ends it. The batch holds its tasks. */
export interface BatchHearing {
  /** started reports that the device of a batch has begun it. */
  started(at: number, batch: number): void;
  /** ended reports that a batch was executed, or failed, or was lost with its device. */
  ended(at: number, batch: number): void;
}

/** DroppingState is what rules decide by. */
export type DroppingState = Pick<
  SharedState,
  | 'topology'
  | 'columns'
  | 'requests'
  | 'batches'
  | 'queues'
  | 'collected'
  | 'durations'
  | 'planned'
  | 'readings'
  | 'streams'
  | 'planner'
  | 'gears'
>;

/** ByDeadline is what rules have in common that give tasks up by their deadline, and hear nothing of queues. */
export abstract class ByDeadline implements Dropping {
  readonly drops: boolean = true;

  abstract dropTime(at: number, head: number, pool: number, start: number, device?: number): number;

  refuses(_at: number, _start: number, _queue: number, _pool: number, _device?: number): boolean {
    return false;
  }

  forbids(..._asked: Parameters<Dropping['forbids']>): boolean {
    return true;
  }

  batchUnderLoad(_pool: number, _more: number): number {
    return 1;
  }

  entered(_queue: number, _task: number): void {}

  waitedOn(_queue: number, _head: number): void {}
}

/** hopelessAt is the first instant at which a task that still takes so long cannot be in time, even without queueing. */
export function hopelessAt(latestEnd: number, workNs: number): number {
  return Math.floor(latestEnd - workNs) + 1;
}
