import { grownCapacity, grownColumn, NONE as SHARED_NONE } from '../../../collections/index.js';
import type { Durations, PlanColumns, WaitingTasks } from '../../state/index.js';
import type { PlannedBatches } from '../forming/planned-batches.js';
import type { DropRule } from '../policy.js';
import { droppingByGear } from './by-gear.js';
import { ByDeadline, type Dropping, type DroppingState, hopelessAt } from './drop-rule.js';
import { ESTIMATED_DROPPINGS } from './estimated-dropping.js';
import { RequestTimeouts } from './request-timeouts.js';

export type { BatchHearing, Dropping } from './drop-rule.js';

const NONE = SHARED_NONE;

const NEVER = Number.POSITIVE_INFINITY;
const NOW = Number.NEGATIVE_INFINITY;

type RuleOf<K extends DropRule['kind']> = Extract<DropRule, { kind: K }>;

/** DROPPINGS makes the Dropping of each kind of rule. */
export const DROPPINGS: {
  readonly [K in DropRule['kind']]: (rule: RuleOf<K>, state: DroppingState) => Dropping;
} = {
  never: () => new Never(),
  expired: (_rule, { queues }) => new Expired(queues),
  'timed-out': ({ slos }, state) => new TimedOut(slos, state),
  hopeless: (_rule, { queues, durations }) => new Hopeless(queues, durations),
  'full-batch': ({ share }, { columns, queues, durations }) =>
    new FullBatch(shareOfEach(share, columns), queues, durations),
  'nearly-full': (rule, state) => new ByDevice(rule, state),
  queueing: (rule, state) => new ByDevice(rule, state),
  gear: (_rule, state) =>
    state.gears === undefined
      ? new Hopeless(state.queues, state.durations)
      : droppingByGear(state, state.gears),
  ...ESTIMATED_DROPPINGS,
};

/** droppingOf makes the Dropping of a rule. */
export function droppingOf(rule: DropRule, state: DroppingState): Dropping {
  const make = DROPPINGS[rule.kind] as (rule: DropRule, state: DroppingState) => Dropping;
  return make(rule, state);
}

type DeviceRule = Extract<DropRule, { kind: 'nearly-full' | 'queueing' }>;

/** Never gives nothing up: never. */
class Never extends ByDeadline {
  override readonly drops = false;

  dropTime(): number {
    return NEVER;
  }
}

/** TimedOut gives up no head of a queue, but ends requests that have taken too long: timed-out. */
class TimedOut extends Never {
  readonly timeouts: RequestTimeouts;

  constructor(slos: number, state: DroppingState) {
    super();
    this.timeouts = new RequestTimeouts(slos, state);
  }
}

/** Expired gives up what is past its deadline: expired. */
class Expired extends ByDeadline {
  constructor(private readonly queues: WaitingTasks) {
    super();
  }

  dropTime(_at: number, head: number): number {
    return this.queues.latestEnd(head) + 1;
  }
}

/** Hopeless gives up what would be late even alone: hopeless. */
class Hopeless extends ByDeadline {
  constructor(
    private readonly queues: WaitingTasks,
    private readonly durations: Durations,
  ) {
    super();
  }

  dropTime(_at: number, head: number, pool: number, _start: number, device = NONE): number {
    return hopelessAt(this.queues.latestEnd(head), this.durations.aloneNs(pool, device));
  }
}

/** FullBatch gives up what is hopeless, and what would be late in its share of a planned batch while more wait: full-batch. */
class FullBatch extends ByDeadline {
  constructor(
    /** The share of a planned batch that is served at least, by pool. */
    private readonly target: Int32Array,
    private readonly queues: WaitingTasks,
    private readonly durations: Durations,
  ) {
    super();
  }

  dropTime(_at: number, head: number, pool: number, _start: number, device = NONE): number {
    return hopelessAt(this.queues.latestEnd(head), this.durations.aloneNs(pool, device));
  }

  override refuses(_at: number, start: number, queue: number, pool: number, device = NONE): boolean {
    const target = this.target[pool] as number;
    if (this.queues.size(queue) <= target) return false;
    const head = this.queues.first(queue);
    if (this.queues.isAlone(head)) return false;
    return start + this.durations.workNs(pool, target, device) > this.queues.latestEnd(head);
  }

  override batchUnderLoad(pool: number, more: number): number {
    return Math.max(1, Math.min(this.target[pool] as number, this.queues.size(pool) + more));
  }
}

/**
 * ByDevice gives tasks up by the batches that the device which takes them next can still end in time: nearly-full and
 * queueing.
 */
class ByDevice implements Dropping {
  readonly drops = true;
  /** `lastWaitedOn` is the task that each queue waited on last. */
  private readonly lastWaitedOn: Int32Array;
  /** `waited` says whether each task has been waited on where it stands. */
  private waited = new Uint8Array(0);

  private readonly columns: PlanColumns;
  private readonly queues: WaitingTasks;
  private readonly durations: Durations;
  private readonly planned: PlannedBatches;

  constructor(
    private readonly rule: DeviceRule,
    { columns, queues, durations, planned }: DroppingState,
  ) {
    this.columns = columns;
    this.queues = queues;
    this.durations = durations;
    this.planned = planned;
    this.lastWaitedOn = new Int32Array(queues.count).fill(NONE);
  }

  dropTime(_at: number, head: number, pool: number, start: number, device = NONE): number {
    if (start !== NEVER) return NEVER;
    return pool === NONE
      ? NOW
      : hopelessAt(this.queues.latestEnd(head), this.durations.aloneNs(pool, device));
  }

  refuses(at: number, start: number, queue: number, pool: number, device = NONE): boolean {
    const head = this.queues.first(queue);
    const latestEnd = this.queues.latestEnd(head);
    const alone = this.queues.isAlone(head);
    const size = this.planned.largest(pool, start, latestEnd, alone ? 1 : NEVER, device);
    if (alone || this.isSpared(queue, head)) return size === 0;
    return size < this.leastAtFirstSight(at, pool, latestEnd, device);
  }

  forbids(at: number, head: number, pool: number, device = NONE): boolean {
    return this.planned.largest(pool, at, this.queues.latestEnd(head), 1, device) === 0;
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

  /** isSpared returns whether the rules for first sight leave the head alone. */
  private isSpared(queue: number, head: number): boolean {
    switch (this.rule.spares) {
      case 'all-waited':
        return this.waited[head] === 1;
      case 'last-waited':
        return this.lastWaitedOn[queue] === head;
    }
  }

  /** leastAtFirstSight is the smallest batch worth serving for a head that is not spared. */
  private leastAtFirstSight(at: number, pool: number, latestEnd: number, device: number): number {
    const nearlyFull = shareOfBatch(this.rule.share, this.columns.batch[pool] as number);
    switch (this.rule.kind) {
      case 'nearly-full':
        return nearlyFull;
      case 'queueing':
        return at <= this.planned.lastStart(pool, nearlyFull, latestEnd, 'transfer', device) ? nearlyFull : 1;
    }
  }
}

/** shareOfEach is a share of the planned batch of each pool. */
function shareOfEach(share: number, { batch }: PlanColumns): Int32Array {
  return batch.map((planned) => shareOfBatch(share, planned));
}

/** shareOfBatch is a share of the planned batch as a whole number, at least 1. */
function shareOfBatch(share: number, batch: number): number {
  return Math.min(batch, Math.max(1, Math.round(share * batch)));
}
