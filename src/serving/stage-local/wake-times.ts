import type { QueueSet } from './placing/queue-set.js';

const NEVER = Number.POSITIVE_INFINITY;

/**
 * WakeTimes holds when each queue is looked at again though nothing happens before. The least of the times is at hand;
 * it is searched for only after the queue that had it was given a later one.
 */
export class WakeTimes {
  private readonly times: Float64Array;
  private least = NEVER;
  private isStale = false;

  constructor(queues: number) {
    this.times = new Float64Array(queues).fill(NEVER);
  }

  set(queue: number, at: number): void {
    const before = this.times[queue] as number;
    if (before === at) return;
    this.times[queue] = at;
    if (at < this.least) this.least = at;
    else if (before === this.least) this.isStale = true;
  }

  /** earliest is the least time, Infinity where no queue has one. */
  earliest(): number {
    if (this.isStale) this.search();
    return this.least;
  }

  /** addDue adds the queues whose time has come to a set. */
  addDue(at: number, queues: QueueSet): void {
    if (this.earliest() > at) return;
    for (let queue = 0; queue < this.times.length; queue++)
      if ((this.times[queue] as number) <= at) queues.add(queue);
  }

  private search(): void {
    this.isStale = false;
    this.least = NEVER;
    for (let queue = 0; queue < this.times.length; queue++)
      if ((this.times[queue] as number) < this.least) this.least = this.times[queue] as number;
  }
}
