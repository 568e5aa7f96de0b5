import { grownCapacity, grownColumn, NONE as SHARED_NONE } from '../../collections/index.js';
import type { Durations, PlanColumns, TaskQueues } from '../state/index.js';
import type { PlannedBatches } from './planned-batches.js';
import type { DropRule } from './policy.js';
import type { SharedState } from './shared-state.js';

const NONE = SHARED_NONE;

const NEVER = Number.POSITIVE_INFINITY;
const NOW = Number.NEGATIVE_INFINITY;

/** Dropping decides which heads of queues are given up (DropRule). */
export interface Dropping {
  /**
   * dropTime is the first instant (ns) at which a head is given up, whatever else happens: −Infinity is at once, and
   * Infinity is never.
   * @param pool the pool it waits for, NONE where that is not known because no device is up
   * @param start when a device begins its batch, Infinity where no device takes it now
   */
  dropTime(head: number, pool: number, start: number): number;
  /**
   * refuses tells whether the head is given up because of the tasks behind it in the queue, or because of
   * when the device of the pool begins.
   */
  refuses(at: number, start: number, queue: number, pool: number): boolean;
  /**
   * forbids tells whether a head that was given up would be given up on a free device too. If so, the
   * expected times of the pool may be wrong.
   */
  forbids(at: number, head: number, pool: number): boolean;
  /**
   * batchUnderLoad is the smallest batch that a task is expected to be served in, when as many tasks wait
   * behind it as are in the queue, and `more` besides.
   */
  batchUnderLoad(pool: number, more: number): number;
  /** entered tells that a task has entered a queue. */
  entered(queue: number, task: number): void;
  /** waitedOn tells that a queue waits for company for its head. */
  waitedOn(queue: number, head: number): void;
}

type DroppingState = Pick<SharedState, 'columns' | 'queues' | 'durations' | 'planned'>;

/** droppingOf makes the Dropping of a rule. */
export function droppingOf(rule: DropRule, { columns, queues, durations, planned }: DroppingState): Dropping {
  switch (rule.kind) {
    case 'nearly-full':
    case 'queueing':
      return new ByDevice(rule, columns, queues, durations, planned);
    default:
      return new ByDeadline(rule, columns, queues, durations);
  }
}

type DeviceRule = Extract<DropRule, { kind: 'nearly-full' | 'queueing' }>;

/**
 * ByDeadline gives tasks up by their deadline alone, or by it and the length of the queue: never, expired,
 * hopeless and full-batch.
 */
class ByDeadline implements Dropping {
  private readonly isHopeless: boolean;
  private readonly isFullBatch: boolean;
  /** The share of a planned batch that `full-batch` serves at least, by pool. */
  private readonly target: Int32Array;

  constructor(
    private readonly rule: Exclude<DropRule, DeviceRule>,
    { batch }: PlanColumns,
    private readonly queues: TaskQueues,
    private readonly durations: Durations,
  ) {
    this.isFullBatch = rule.kind === 'full-batch';
    this.isHopeless = rule.kind === 'hopeless' || this.isFullBatch;
    const share = rule.kind === 'full-batch' ? rule.share : 1;
    this.target = batch.map((planned) => shareOfBatch(share, planned));
  }

  dropTime(head: number, pool: number): number {
    if (this.isHopeless) return hopelessAt(this.queues.latestEnd(head), pool, this.durations);
    return this.rule.kind === 'never' ? NEVER : this.queues.latestEnd(head) + 1;
  }

  refuses(_at: number, start: number, queue: number, pool: number): boolean {
    if (!this.isFullBatch) return false;
    const target = this.target[pool] as number;
    if (this.queues.size(queue) <= target) return false;
    const head = this.queues.first(queue);
    if (this.queues.isAlone(head)) return false;
    return start + this.durations.workNs(pool, target) > this.queues.latestEnd(head);
  }

  forbids(): boolean {
    return true;
  }

  batchUnderLoad(pool: number, more: number): number {
    if (!this.isFullBatch) return 1;
    return Math.max(1, Math.min(this.target[pool] as number, this.queues.size(pool) + more));
  }

  entered(): void {}

  waitedOn(): void {}
}

/**
 * ByDevice gives tasks up by the batches that the device which takes them next can still end in time: nearly-full and
 * queueing.
 */
class ByDevice implements Dropping {
  /** `lastWaitedOn` is the task that each queue waited on last. */
  private readonly lastWaitedOn: Int32Array;
  /** `waited` tells whether each task has been waited on where it stands. */
  private waited = new Uint8Array(0);

  constructor(
    private readonly rule: DeviceRule,
    private readonly columns: PlanColumns,
    private readonly queues: TaskQueues,
    private readonly durations: Durations,
    private readonly planned: PlannedBatches,
  ) {
    this.lastWaitedOn = new Int32Array(queues.count).fill(NONE);
  }

  dropTime(head: number, pool: number, start: number): number {
    if (start !== NEVER) return NEVER;
    return pool === NONE ? NOW : hopelessAt(this.queues.latestEnd(head), pool, this.durations);
  }

  refuses(at: number, start: number, queue: number, pool: number): boolean {
    const head = this.queues.first(queue);
    const latestEnd = this.queues.latestEnd(head);
    const alone = this.queues.isAlone(head);
    const size = this.planned.largest(pool, start, latestEnd, alone ? 1 : NEVER);
    if (alone || this.isSpared(queue, head)) return size === 0;
    return size < this.leastAtFirstSight(at, pool, latestEnd);
  }

  forbids(at: number, head: number, pool: number): boolean {
    return this.planned.largest(pool, at, this.queues.latestEnd(head), 1) === 0;
  }

  batchUnderLoad(): number {
    return 1;
  }

  entered(queue: number, task: number): void {
    if (task >= this.waited.length)
      this.waited = grownColumn(this.waited, grownCapacity(this.waited.length, task + 1));
    this.waited[task] = 0;
    // The number belonged to another task when the queue waited on it.
    if (this.lastWaitedOn[queue] === task) this.lastWaitedOn[queue] = NONE;
  }

  waitedOn(queue: number, head: number): void {
    this.lastWaitedOn[queue] = head;
    this.waited[head] = 1;
  }

  /** isSpared tells whether the rules for first sight leave the head alone. */
  private isSpared(queue: number, head: number): boolean {
    return this.rule.spares === 'last-waited' ? this.lastWaitedOn[queue] === head : this.waited[head] === 1;
  }

  /** leastAtFirstSight is the smallest batch worth serving for a head that is not spared. */
  private leastAtFirstSight(at: number, pool: number, latestEnd: number): number {
    const nearlyFull = shareOfBatch(this.rule.share, this.columns.batch[pool] as number);
    if (this.rule.kind === 'nearly-full') return nearlyFull;
    return at <= this.planned.lastStart(pool, nearlyFull, latestEnd, 'transfer') ? nearlyFull : 1;
  }
}

/**
 * hopelessAt is the first instant at which a task cannot be in time even alone and without queueing. Where
 * the pool is not known, only the deadline counts.
 */
function hopelessAt(latestEnd: number, pool: number, durations: Durations): number {
  return Math.floor(latestEnd - (pool === NONE ? 0 : durations.workNs(pool, 1))) + 1;
}

/** shareOfBatch is a share of the planned batch as a whole number, at least 1. */
function shareOfBatch(share: number, batch: number): number {
  return Math.min(batch, Math.max(1, Math.round(share * batch)));
}
