import type { Durations } from './durations.js';
import type { Lists } from './lists.js';
import type { StageLocalPolicy } from './policy.js';
import type { Requests } from './requests.js';
import type { Pool } from './topology.js';

const NEVER = Number.POSITIVE_INFINITY;

/** A policy's rules, asked about the tasks that stand in a pool's queue. They decide nothing and change nothing. */
export class StageRules {
  constructor(
    private readonly policy: StageLocalPolicy,
    private readonly pools: readonly Pool[],
    private readonly requests: Requests,
    private readonly queues: Lists,
    private readonly durations: Durations,
  ) {}

  /** The largest batch from the head on whose every deadline is met; where not even the head's can be, all that fit. */
  largestInTime(at: number, pool: number): number {
    const most = Math.min(this.pools[pool]?.batch as number, this.queues.size(pool));
    let best = 0;
    let earliest = NEVER;
    let task = this.queues.first(pool);
    let size = 0;
    while (size < most && (size === 0 || this.requests.tries[task] === 0)) {
      size += 1;
      earliest = Math.min(earliest, this.latestEnd(task));
      if (at + this.durations.workNs(pool, size) <= earliest) best = size;
      // One that was in a failed batch is tried alone: it may be what failed it.
      if ((this.requests.tries[task] as number) > 0) break;
      task = this.queues.next(task);
    }
    return best > 0 ? best : size;
  }

  /** Until when a batch of `size` waits for company; the past where it does not. */
  waitUntil(pool: number, head: number, size: number): number {
    const { formation } = this.policy;
    if (formation.kind === 'eager') return Number.NEGATIVE_INFINITY;
    const full = size === this.pools[pool]?.batch || size < this.queues.size(pool);
    if (full || (this.requests.tries[head] as number) > 0) return Number.NEGATIVE_INFINITY;
    const last = this.latestEnd(head) - this.durations.workNs(pool, size + 1);
    const since = this.requests.queuedAt[head] as number;
    return Math.floor(since + formation.share * (last - since));
  }

  /** The first instant at which the rule gives the task up. */
  dropTime(pool: number, task: number): number {
    switch (this.policy.drop.kind) {
      case 'never':
        return NEVER;
      case 'expired':
        return this.latestEnd(task) + 1;
      case 'hopeless':
      case 'full-batch':
        return Math.floor(this.latestEnd(task) - this.durations.workNs(pool, 1)) + 1;
    }
  }

  hindersFullBatch(at: number, pool: number, head: number): boolean {
    const { drop } = this.policy;
    if (drop.kind !== 'full-batch') return false;
    const target = Math.max(1, Math.round(drop.share * (this.pools[pool]?.batch as number)));
    if (this.queues.size(pool) <= target || (this.requests.tries[head] as number) > 0) return false;
    return at + this.durations.workNs(pool, target) > this.latestEnd(head);
  }

  /**
   * The smallest batch that a task is expected to be served in when as many wait behind it as stand in the queue and `more`:
   * the rule may then give up one that would be late in a full batch.
   */
  batchUnderLoad(pool: number, more: number): number {
    const { drop } = this.policy;
    if (drop.kind !== 'full-batch') return 1;
    const target = Math.round(drop.share * (this.pools[pool]?.batch as number));
    return Math.max(1, Math.min(target, this.queues.size(pool) + more));
  }

  latestEnd(task: number): number {
    return (this.requests.deadline[this.requests.request[task] as number] as number) - this.policy.slackNs;
  }

  isBefore(task: number, other: number): boolean {
    switch (this.policy.order.kind) {
      case 'fifo':
        return (this.requests.queuedAt[task] as number) < (this.requests.queuedAt[other] as number);
      case 'deadline':
        return this.latestEnd(task) < this.latestEnd(other);
    }
  }
}
