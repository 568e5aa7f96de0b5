import { NONE as SHARED_NONE } from '../../../collections/index.js';
import { brokenPromise } from '../../broken-promise.js';
import {
  type Durations,
  listsOf,
  type PlanColumns,
  type Requests,
  type TaskQueues,
  type WaitingTasks,
  WeighedQueues,
} from '../../state/index.js';
import type { FormationRule } from '../policy.js';
import type { Gears } from '../scaling/gears.js';
import type { SharedState } from '../shared-state.js';
import type { PlannedBatches } from './planned-batches.js';
import { SealedBatches } from './sealed-batches.js';

const NONE = SHARED_NONE;

const NEVER = Number.POSITIVE_INFINITY;
const NOW = Number.NEGATIVE_INFINITY;

/** Formation decides how the batches of a queue are formed (FormationRule). It starts none. */
export interface Formation {
  /** waitsLonger says whether a batch may wait longer once fewer tasks wait than before. */
  readonly waitsLonger: boolean;
  /**
   * size is the size of the batch meant for a device of a pool that begins it at `start`. It is at least 1,
   * and may be more than wait. The queue has a task.
   * @param device the device; left out, it is whichever comes
   */
  size(start: number, queue: number, pool: number, device?: number): number;
  /**
   * waitUntil is the time until which a batch meant to be of `size` waits for company. It is in the past
   * where the batch does not wait.
   */
  waitUntil(queue: number, pool: number, size: number, device?: number): number;
  /**
   * entering reports that a task is about to enter a queue. It is absent where batches are formed only when devices take them.
   */
  entering?(at: number, queue: number, task: number): void;
  /** picksOf chooses the tasks of the next batch of a queue. It is absent where they are the first. */
  picksOf?(queue: number): Picks;
}

/** Picks chooses from which task on a queue gives a batch. */
export interface Picks {
  /** from is the first task of a batch of `size` tasks that begins at `start`. */
  from(start: number, queue: number, pool: number, size: number, device?: number): number;
  /**
   * after is the task that stands behind another, NONE where none does: the next of the batch. Where it is absent, `from` is
   * asked for each task of the batch, when those before it have left the queue.
   */
  after?(task: number): number;
}

type FormationState = Pick<
  SharedState,
  'columns' | 'requests' | 'queues' | 'durations' | 'planned' | 'gears' | 'planner'
>;

/** formationOf makes the Formation of a rule; `ahead` has none, since batches are then collected (RequestBroker). */
export function formationOf(rule: FormationRule, state: FormationState): Formation | undefined {
  switch (rule.kind) {
    case 'last-moment':
      return new LastMoment(rule, state);
    case 'eager':
      return new Eager(state);
    case 'gear':
      return gearBatches(state, new Waiting(state));
    case 'gathered':
      return gearBatches(state, new Delay(new Waiting(state), { ...state, delayNs: rule.gatherNs }));
    case 'waiting':
      return new Waiting(state);
    case 'delay':
      return new Delay(new Waiting(state), { ...state, delayNs: rule.delayNs });
    case 'sealed':
      return new SealedBatches(rule.timeoutNs, state);
    case 'room-first':
      return state.queues instanceof WeighedQueues
        ? new WeighedRoomFirst(rule.room, state, state.queues)
        : new RoomFirst(rule.room, state);
    case 'ahead':
      return undefined;
  }
}

function gearBatches({ gears, ...state }: FormationState, withoutGears: Formation): Formation {
  return gears === undefined
    ? withoutGears
    : new GearBatches(new Waiting(state), { requests: state.requests, queues: state.queues, gears });
}

/** Waiting takes all tasks that wait, up to the planned batch: waiting. */
class Waiting implements Formation {
  readonly waitsLonger = false;

  private readonly columns: PlanColumns;
  protected readonly queues: TaskQueues;

  constructor({ columns, queues }: FormationState) {
    this.columns = columns;
    this.queues = listsOf(queues);
  }

  size(_start: number, queue: number, pool: number): number {
    const { queues } = this;
    const most = Math.min(this.columns.batch[pool] as number, queues.size(queue));
    let task = queues.first(queue);
    if (most === 1 || queues.isAlone(task)) return 1;
    let size = 1;
    for (; size < most; size++) {
      task = queues.next(task);
      if (queues.isAlone(task)) break;
    }
    return size;
  }

  waitUntil(): number {
    return NOW;
  }
}

/**
 * RoomFirst takes tasks that wait, up to the planned batch, and of more than that the most urgent that has room and those
 * behind it: room-first. So no task is taken that the later stages will hardly end in time while others wait, and the
 * device still has full batches. A batch takes one step for each task before the first that has room.
 */
class RoomFirst extends Waiting implements Picks {
  private readonly endsWithRoom: (start: number, pool: number, device: number) => number;

  constructor(room: number, state: FormationState) {
    super(state);
    this.endsWithRoom = withRoom(room, state);
  }

  from(start: number, queue: number, pool: number, size: number, device = NONE): number {
    const { queues } = this;
    const end = this.endsWithRoom(start, pool, device);
    const head = queues.first(queue);
    if (queues.isAlone(head)) return head;
    let task = head;
    for (let spare = queues.size(queue) - size; spare > 0 && end > queues.latestEnd(task); spare--)
      task = queues.next(task);
    return this.hasAlone(task, size) ? head : task;
  }

  after(task: number): number {
    return this.queues.next(task);
  }

  picksOf(_queue: number): Picks {
    return this;
  }

  /** hasAlone returns whether one of a given number of tasks is to be tried alone. */
  private hasAlone(first: number, count: number): boolean {
    let task = first;
    for (let i = 0; i < count; i++, task = this.queues.next(task)) if (this.queues.isAlone(task)) return true;
    return false;
  }
}

/**
 * withRoom makes the function that says when a batch that begins at `start` is to end the last stage, so that
 * its tasks have room.
 */
function withRoom(
  room: number,
  { planner }: FormationState,
): (start: number, pool: number, device: number) => number {
  if (planner === undefined) throw brokenPromise('batches are formed by what is observed, and nothing is');
  return (start, pool, device) =>
    start +
    planner.durationNs(pool, device) +
    (planner.laterNs(start, pool) + room * planner.laterWorkNs(pool));
}

/** WeighedRoomFirst is RoomFirst that weighs tasks where those of several weights wait: room-first with levels. */
class WeighedRoomFirst extends RoomFirst {
  private readonly byWeight: Picks;

  constructor(
    room: number,
    state: FormationState,
    private readonly weighed: WeighedQueues,
  ) {
    super(room, state);
    this.byWeight = new PicksByWeight(weighed, withRoom(room, state));
  }

  override picksOf(queue: number): Picks {
    return this.weighed.areSeveral(queue) ? this.byWeight : this;
  }
}

/**
 * PicksByWeight takes tasks one by one: each is the most urgent that has room, of all tasks or, where that one would make
 * heavier ones late, of the next heavier level for which that does not hold. A task takes one step for each before it that has
 * no room.
 */
class PicksByWeight implements Picks {
  private readonly all: TaskQueues;
  private readonly byLevel: TaskQueues;

  constructor(
    private readonly weighed: WeighedQueues,
    private readonly endsWithRoom: (start: number, pool: number, device: number) => number,
  ) {
    this.all = listsOf(weighed.all);
    this.byLevel = listsOf(weighed.byLevel);
  }

  from(start: number, queue: number, pool: number, size: number, device = NONE): number {
    const { all, byLevel, weighed } = this;
    const head = all.first(queue);
    // As many tasks as the batch still lacks stand before the first that is tried alone, or the batch is of the head.
    if (all.isAlone(head)) return head;
    const end = this.endsWithRoom(start, pool, device);
    const found = firstWithRoom(all, queue, size, end);
    let task = found === NONE ? head : found;
    for (let list = weighed.instead(queue, task); list !== NONE; list = weighed.instead(queue, task)) {
      const heavier = firstWithRoom(byLevel, list, size, end);
      if (heavier === NONE) break;
      task = heavier;
    }
    return task;
  }
}

/**
 * firstWithRoom is the first task of a list that may end at `end`, or the one from which on `size` are left, if none before it
 * may. Tasks that are tried alone are passed over; it is NONE where there are no others.
 */
function firstWithRoom(lists: TaskQueues, list: number, size: number, end: number): number {
  let spare = lists.size(list) - size;
  for (let task = lists.first(list); task !== NONE; task = lists.next(task), spare--)
    if (!lists.isAlone(task) && (spare <= 0 || end <= lists.latestEnd(task))) return task;
  return NONE;
}

/** GearBatches takes all tasks that wait, and waits for as many as the active gear asks for: gear. */
class GearBatches implements Formation {
  readonly waitsLonger = false;

  constructor(
    private readonly waiting: Waiting,
    private readonly state: {
      readonly requests: Requests;
      readonly queues: WaitingTasks;
      readonly gears: Gears;
    },
  ) {}

  size(start: number, queue: number, pool: number): number {
    return this.waiting.size(start, queue, pool);
  }

  waitUntil(queue: number, pool: number): number {
    const { requests, queues, gears } = this.state;
    const head = queues.first(queue);
    if (queues.size(queue) >= gears.minQueue(pool) || queues.isAlone(head)) return NOW;
    return requests.queuedAt(head) + gears.timeoutNs;
  }
}

/** Delay takes all tasks that wait, and waits for a planned batch until the first has waited long enough: delay. */
class Delay implements Formation {
  readonly waitsLonger = false;

  constructor(
    private readonly waiting: Waiting,
    private readonly state: Pick<FormationState, 'columns' | 'requests' | 'queues'> & {
      readonly delayNs: number;
    },
  ) {}

  size(start: number, queue: number, pool: number): number {
    return this.waiting.size(start, queue, pool);
  }

  waitUntil(queue: number, pool: number): number {
    const { columns, requests, queues, delayNs } = this.state;
    const head = queues.first(queue);
    if (queues.size(queue) >= (columns.batch[pool] as number) || queues.isAlone(head)) return NOW;
    return requests.queuedAt(head) + delayNs;
  }
}

/** Eager takes as many of the waiting tasks as are all in time, and waits for nothing: eager. */
class Eager implements Formation {
  readonly waitsLonger = false;

  private readonly columns: PlanColumns;
  private readonly queues: TaskQueues;
  private readonly durations: Durations;

  constructor({ columns, queues, durations }: FormationState) {
    this.columns = columns;
    this.queues = listsOf(queues);
    this.durations = durations;
  }

  /**
   * size is the largest batch from the head on whose every deadline is met. Where not even the head's
   * deadline can be met, it is all tasks that fit.
   */
  size(start: number, queue: number, pool: number, device = NONE): number {
    const { queues } = this;
    const most = Math.min(this.columns.batch[pool] as number, queues.size(queue));
    if (most === 1) return 1;
    let best = 0;
    let earliest = NEVER;
    let task = queues.first(queue);
    let size = 0;
    while (size < most && (size === 0 || !queues.isAlone(task))) {
      size += 1;
      earliest = Math.min(earliest, queues.latestEnd(task));
      if (start + this.durations.workNs(pool, size, device) <= earliest) best = size;
      if (queues.isAlone(task)) break;
      task = queues.next(task);
    }
    return best > 0 ? best : size;
  }

  waitUntil(): number {
    return NOW;
  }
}

/**
 * LastMoment aims at the largest batch in which the head is in time, and waits for the tasks that it lacks:
 * last-moment.
 */
class LastMoment implements Formation {
  readonly waitsLonger = true;

  private readonly columns: PlanColumns;
  private readonly queues: WaitingTasks;
  private readonly planned: PlannedBatches;

  constructor(
    private readonly rule: Extract<FormationRule, { kind: 'last-moment' }>,
    { columns, queues, planned }: FormationState,
  ) {
    this.columns = columns;
    this.queues = queues;
    this.planned = planned;
  }

  size(start: number, queue: number, pool: number, device = NONE): number {
    const head = this.queues.first(queue);
    const most = this.queues.isAlone(head) ? 1 : (this.columns.batch[pool] as number);
    const size = this.planned.largest(pool, start, this.queues.latestEnd(head), most, device);
    return size > 0 ? size : Math.min(most, this.queues.size(queue));
  }

  waitUntil(queue: number, pool: number, size: number, device = NONE): number {
    const waiting = this.queues.size(queue);
    if (waiting >= size) return NOW;
    const latestEnd = this.queues.latestEnd(this.queues.first(queue));
    const { leaves, stepNs } = this.rule;
    return Math.floor(this.planned.lastStart(pool, waiting + 1, latestEnd, leaves, device)) + stepNs;
  }
}
