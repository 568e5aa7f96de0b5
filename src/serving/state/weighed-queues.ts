import { grownCapacity, grownColumn, NONE as SHARED_NONE } from '../../collections/index.js';
import { brokenPromise } from '../broken-promise.js';
import type { Requests } from './requests.js';
import type { WaitingTasks } from './waiting-tasks.js';

const NONE = SHARED_NONE;

/** MOST_LEVELS is how many different weights the requests of one core may have. */
export const MOST_LEVELS = 16;

/** Deadlines are distinguished by spans of this part of the longest SLO. Two more hold those before and after. */
const SPANS_OF_SLO = 62;
const SPANS = SPANS_OF_SLO + 2;

/** ServingPace says how fast the tasks of a queue are served, if all devices that serve it execute full batches. */
export interface ServingPace {
  /** When the next batch begins, and how many tasks are in it already. */
  startNs: number;
  taken: number;
  batch: number;
  /** How long after one batch the next begins, and how long after its begin a batch has ended its last stage. */
  stepNs: number;
  endsAfterNs: number;
  /** How long before its deadline each task is to end. */
  marginNs: number;
}

/** WeighedQueuesParts is what WeighedQueues are made of. */
export interface WeighedQueuesParts {
  readonly requests: Requests;
  /** All tasks of each queue. */
  readonly all: WaitingTasks;
  /** The same tasks by level: list `queue · MOST_LEVELS + level`. */
  readonly byLevel: WaitingTasks;
  /** paceOf writes how fast the tasks of a queue are served now. */
  readonly paceOf: (queue: number, pace: ServingPace) => void;
  readonly longestSloNs: number;
}

/**
 * WeighedQueues serves heavier tasks first where lighter ones before them would make one of them late. Each different weight
 * is a level. The first task by the order of `all` goes first, unless a heavier one that waits would then be too late, by the
 * pace of full batches; then it is the first task of the next heavier level for which that does not hold. Of unit tasks with
 * deadlines on one machine, the most weight is had by such a rule: take tasks by weight, each if all that were taken can still
 * be in time. So nothing changes while all can be in time, or all weigh the same.
 *
 * Deadlines of heavier tasks are distinguished by 62nds of the longest SLO, and a task counts as due when its span begins. A
 * change costs twice that of the queues below, and `first` a pass over 64 spans for each level that waits. After growth,
 * nothing is allocated.
 */
export class WeighedQueues implements WaitingTasks {
  readonly count: number;
  /** `all` and `byLevel` are the queues below. Only this class changes them. */
  readonly all: WaitingTasks;
  readonly byLevel: WaitingTasks;
  private readonly requests: Requests;
  private readonly paceOf: WeighedQueuesParts['paceOf'];
  private readonly spanNs: number;
  /** The weight of each level, in the order in which they were first seen, and the levels from the lightest to the heaviest. */
  private readonly weights: number[] = [];
  private readonly levels: number[] = [];
  /** By level, how many levels are lighter. */
  private readonly ranks = new Uint8Array(MOST_LEVELS);
  private levelOf = new Uint8Array(0);
  private spanOf = new Uint8Array(0);
  /** By list and span, how many tasks are due in it. */
  private readonly due: Int32Array;
  /** By queue, of how many levels tasks wait. */
  private readonly waitingLevels: Uint8Array;
  private readonly pace: ServingPace = {
    startNs: 0,
    taken: 0,
    batch: 1,
    stepNs: 0,
    endsAfterNs: 0,
    marginNs: 0,
  };

  constructor({ requests, all, byLevel, paceOf, longestSloNs }: WeighedQueuesParts) {
    this.requests = requests;
    this.all = all;
    this.byLevel = byLevel;
    this.count = all.count;
    this.paceOf = paceOf;
    this.spanNs = longestSloNs / SPANS_OF_SLO;
    this.due = new Int32Array(byLevel.count * SPANS);
    this.waitingLevels = new Uint8Array(all.count);
  }

  /** isWeighed returns whether requests of several weights have come. */
  get isWeighed(): boolean {
    return this.weights.length > 1;
  }

  size(queue: number): number {
    return this.all.size(queue);
  }

  first(queue: number): number {
    let task = this.all.first(queue);
    if (task === NONE) return NONE;
    for (let list = this.instead(queue, task); list !== NONE; list = this.instead(queue, task))
      task = this.byLevel.first(list);
    return task;
  }

  /** areSeveral returns whether tasks of several levels wait in a queue. */
  areSeveral(queue: number): boolean {
    return (this.waitingLevels[queue] as number) > 1;
  }

  /**
   * instead is the list of `byLevel` from which a task is to be taken in place of one that would make heavier ones late. It
   * is NONE where that one may go.
   */
  instead(queue: number, task: number): number {
    if (!this.areSeveral(queue)) return NONE;
    const rank = this.ranks[this.levelOf[task] as number] as number;
    const heavier = this.nextHeavier(queue, rank);
    return heavier === NONE || this.allCanWait(queue, rank) ? NONE : queue * MOST_LEVELS + heavier;
  }

  private nextHeavier(queue: number, rank: number): number {
    const { levels, byLevel } = this;
    for (let heavier = rank + 1; heavier < levels.length; heavier++) {
      const level = levels[heavier] as number;
      if (byLevel.size(queue * MOST_LEVELS + level) > 0) return level;
    }
    return NONE;
  }

  /** allCanWait returns whether all tasks of a queue that are heavier than a rank can be in time behind one task more. */
  private allCanWait(queue: number, rank: number): boolean {
    const { pace, spanNs, due, levels } = this;
    this.paceOf(queue, pace);
    const { startNs, batch, stepNs, marginNs } = pace;
    const endsAfterNs = pace.endsAfterNs + marginNs;
    let count = pace.taken + 1;
    // Tasks that are due in a span which ends sooner are lost whatever order is chosen.
    const from = Math.floor((startNs + endsAfterNs - marginNs) / spanNs);
    for (let span = from; span < from + SPANS; span++) {
      const place = span % SPANS;
      let more = 0;
      for (let heavier = rank + 1; heavier < levels.length; heavier++)
        more += due[(queue * MOST_LEVELS + (levels[heavier] as number)) * SPANS + place] as number;
      if (more === 0) continue;
      count += more;
      const last = startNs + (Math.ceil(count / batch) - 1) * stepNs;
      if (last + endsAfterNs > span * spanNs) return false;
    }
    return true;
  }

  mostUrgent(queue: number): number {
    return this.all.mostUrgent(queue);
  }

  insert(queue: number, task: number): boolean {
    if (task >= this.levelOf.length) this.grow(task + 1);
    const level = this.levelOfWeight(this.requests.weightOf(this.requests.requestOf(task)));
    const list = queue * MOST_LEVELS + level;
    const span = Math.max(0, Math.floor(this.latestEnd(task) / this.spanNs)) % SPANS;
    this.levelOf[task] = level;
    this.spanOf[task] = span;
    this.due[list * SPANS + span]! += 1;
    if (this.byLevel.size(list) === 0) this.waitingLevels[queue]! += 1;
    this.byLevel.insert(list, task);
    return this.all.insert(queue, task);
  }

  remove(queue: number, task: number): void {
    const list = queue * MOST_LEVELS + (this.levelOf[task] as number);
    this.due[list * SPANS + (this.spanOf[task] as number)]! -= 1;
    this.byLevel.remove(list, task);
    if (this.byLevel.size(list) === 0) this.waitingLevels[queue]! -= 1;
    this.all.remove(queue, task);
  }

  begunBeside(queue: number, task: number): void {
    this.byLevel.begunBeside?.(queue * MOST_LEVELS + (this.levelOf[task] as number), task);
    this.all.begunBeside?.(queue, task);
  }

  latestEnd(task: number): number {
    return this.all.latestEnd(task);
  }

  isAlone(task: number): boolean {
    return this.all.isAlone(task);
  }

  private levelOfWeight(weight: number): number {
    const { weights } = this;
    for (let level = 0; level < weights.length; level++) if (weights[level] === weight) return level;
    if (weights.length === MOST_LEVELS)
      throw brokenPromise(
        `a request has the weight ${weight}, and ${MOST_LEVELS} others have come before it`,
      );
    weights.push(weight);
    this.levels.push(weights.length - 1);
    this.levels.sort((a, b) => (weights[a] as number) - (weights[b] as number));
    this.levels.forEach((level, rank) => {
      this.ranks[level] = rank;
    });
    return weights.length - 1;
  }

  private grow(length: number): void {
    const capacity = grownCapacity(this.levelOf.length, length);
    this.levelOf = grownColumn(this.levelOf, capacity);
    this.spanOf = grownColumn(this.spanOf, capacity);
  }
}
