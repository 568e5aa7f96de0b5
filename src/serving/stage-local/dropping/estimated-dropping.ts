import { grownCapacity, grownColumn, NONE as SHARED_NONE } from '../../../collections/index.js';
import { brokenPromise } from '../../broken-promise.js';
import {
  listsOf,
  type PlanColumns,
  type Requests,
  type TaskQueues,
  type WaitingTasks,
} from '../../state/index.js';
import { type SpareTimes, spareTimes } from '../pard-state/spare-times.js';
import type { StatePlanner } from '../pard-state/state-planner.js';
import type { DropRule } from '../policy.js';
import { ByDeadline, type DroppingState, hopelessAt } from './drop-rule.js';

const NONE = SHARED_NONE;

const NEVER = Number.POSITIVE_INFINITY;
const NOW = Number.NEGATIVE_INFINITY;
/** A request that takes exactly its share of an SLO is in time: a share is rounded by less than this. */
const ROUNDING_NS = 1e-3;

function plannerOf({ planner }: DroppingState): StatePlanner {
  if (planner === undefined) throw brokenPromise('a drop rule decides by what is observed, and nothing is');
  return planner;
}

/** EndToEnd gives up what would end its last stage too late, by PARD's estimate: end-to-end. */
class EndToEnd extends ByDeadline {
  private readonly planner: StatePlanner;
  private readonly queues: WaitingTasks;
  private readonly collected: DroppingState['collected'];
  private readonly durations: DroppingState['durations'];
  private readonly byForming: boolean;

  constructor(state: DroppingState) {
    super();
    this.planner = plannerOf(state);
    this.queues = state.queues;
    this.collected = state.collected;
    this.durations = state.durations;
    this.byForming = state.readings?.formingBatch === true;
  }

  dropTime(at: number, head: number, pool: number, start: number, device = NONE): number {
    const latestEnd = this.queues.latestEnd(head);
    if (this.byForming)
      return start === NEVER ? hopelessAt(latestEnd, this.durations.aloneNs(pool, device)) : NEVER;
    const durationNs = this.planner.leastNs(pool, device);
    // No estimate of the later stages is below 0.
    if (start === NEVER) return Math.floor(latestEnd - durationNs) + 1;
    return start + durationNs + this.planner.laterNs(at, pool) > latestEnd ? NOW : NEVER;
  }

  override refuses(at: number, start: number, queue: number, pool: number, device = NONE): boolean {
    if (!this.byForming) return false;
    const durationNs = this.durations.stepNs(pool, this.collected.size(queue) + 1, device);
    const latestEnd = this.queues.latestEnd(this.queues.first(queue));
    return start + durationNs + this.planner.laterNs(at, pool) > latestEnd;
  }
}

/** StageBudget gives up what takes longer in a stage than its share of the SLO: stage-budget. */
class StageBudget extends ByDeadline {
  private readonly planner: StatePlanner;
  readonly requests: Requests;
  readonly columns: PlanColumns;
  readonly queues: WaitingTasks;
  private readonly untilEnd: boolean;
  /**
   * The spare time of each SLO, of which stages have parts; absent where their parts are of the whole SLO.
   */
  private readonly spare: SpareTimes | undefined;

  constructor({ shares, until }: Extract<DropRule, { kind: 'stage-budget' }>, state: DroppingState) {
    super();
    this.planner = plannerOf(state);
    this.requests = state.requests;
    this.columns = state.columns;
    this.queues = state.queues;
    this.untilEnd = UNTIL_END[until];
    this.spare = OF_SPARE[shares] ? spareTimes(state.topology) : undefined;
  }

  dropTime(_at: number, head: number, pool: number, start: number, device = NONE): number {
    if (start === NEVER) return NEVER;
    const queuedAt = this.requests.queuedAt(head);
    const budgetNs = this.budgetNs(head, pool) + ROUNDING_NS;
    const until = this.untilEnd ? start + this.planner.leastNs(pool, device) : start;
    return until - queuedAt > budgetNs ? NOW : NEVER;
  }

  private budgetNs(task: number, pool: number): number {
    if (this.spare === undefined) return this.planner.shareOf(pool) * usableSloNs(task, this);
    const { shares, spareNs } = this.spare;
    return (shares[pool] as number) * Math.max(0, (spareNs[pool] as number) - slackNs(task, this));
  }
}

const OF_SPARE: { readonly [K in Extract<DropRule, { kind: 'stage-budget' }>['shares']]: boolean } = {
  durations: false,
  'worst-case': false,
  spare: true,
};

interface SloParts {
  readonly columns: PlanColumns;
  readonly requests: Requests;
  readonly queues: WaitingTasks;
}

/** usableSloNs is the SLO of a task's model, less what is kept free before every deadline. */
function usableSloNs(task: number, parts: SloParts): number {
  const { columns, requests } = parts;
  return (columns.sloNs[requests.modelOf(requests.requestOf(task))] as number) - slackNs(task, parts);
}

/** slackNs is what is kept free before the deadline of a task. */
function slackNs(task: number, { requests, queues }: Omit<SloParts, 'columns'>): number {
  return requests.deadlineOfTask(task) - queues.latestEnd(task);
}

const UNTIL_END: { readonly [K in Extract<DropRule, { kind: 'stage-budget' }>['until']]: boolean } = {
  start: false,
  end: true,
};

/**
 * Window gives up the tasks before the first batch full of tasks that would all end the stage in time, and all where there is
 * no such batch: window (Nexus' early drop).
 */
class Window extends ByDeadline {
  private readonly planner: StatePlanner;
  readonly requests: Requests;
  readonly columns: PlanColumns;
  readonly queues: TaskQueues;
  private readonly collected: DroppingState['collected'];
  private readonly withinStage: boolean;

  constructor({ within }: Extract<DropRule, { kind: 'window' }>, state: DroppingState) {
    super();
    this.planner = plannerOf(state);
    this.requests = state.requests;
    this.columns = state.columns;
    this.queues = listsOf(state.queues);
    this.collected = state.collected;
    this.withinStage = WITHIN_STAGE[within];
  }

  dropTime(_at: number, head: number, pool: number, _start: number, device = NONE): number {
    if (pool === NONE) return this.queues.latestEnd(head) + 1;
    return Math.floor(this.latestEnd(head, pool) - this.planner.leastNs(pool, device)) + 1;
  }

  override refuses(_at: number, start: number, queue: number, pool: number, device = NONE): boolean {
    const end = start + this.planner.durationNs(pool, device);
    let left = (this.columns.batch[pool] as number) - this.collected.size(queue);
    for (let task = this.queues.first(queue); task !== NONE && left > 0; task = this.queues.next(task)) {
      if (end > this.latestEnd(task, pool)) return true;
      left -= 1;
    }
    return false;
  }

  private latestEnd(task: number, pool: number): number {
    if (!this.withinStage) return this.queues.latestEnd(task);
    const budgetNs = this.planner.shareOf(pool) * usableSloNs(task, this) + ROUNDING_NS;
    return this.requests.queuedAt(task) + budgetNs;
  }
}

const WITHIN_STAGE: { readonly [K in Extract<DropRule, { kind: 'window' }>['within']]: boolean } = {
  slo: false,
  stage: true,
};

/** Overload gives up a share of all tasks while a stage from theirs on is overloaded: overload (DAGOR). */
class Overload extends ByDeadline {
  private readonly planner: StatePlanner;
  private readonly share: number;
  /** By pool, how far the next drop has come. */
  private readonly due: Float64Array;
  /** judged says whether each task was judged where it stands. */
  private judged = new Uint8Array(0);

  constructor({ share }: Extract<DropRule, { kind: 'overload' }>, state: DroppingState) {
    super();
    this.planner = plannerOf(state);
    this.share = share;
    this.due = new Float64Array(state.columns.batch.length);
  }

  dropTime(_at: number, head: number, pool: number, start: number): number {
    if (start === NEVER || this.judged[head] === 1) return NEVER;
    this.judged[head] = 1;
    if (!this.planner.sheds(pool)) return NEVER;
    this.due[pool]! += this.share;
    if ((this.due[pool] as number) < 1) return NEVER;
    this.due[pool]! -= 1;
    return NOW;
  }

  override entered(_queue: number, task: number): void {
    if (task >= this.judged.length)
      this.judged = grownColumn(this.judged, grownCapacity(this.judged.length, task + 1));
    this.judged[task] = 0;
  }
}

type RuleOf<K extends DropRule['kind']> = Extract<DropRule, { kind: K }>;

/** ESTIMATED_DROPPINGS makes the Dropping of each rule that decides by what is observed of the stages. */
export const ESTIMATED_DROPPINGS = {
  'end-to-end': (_rule: RuleOf<'end-to-end'>, state: DroppingState) => new EndToEnd(state),
  'stage-budget': (rule: RuleOf<'stage-budget'>, state: DroppingState) => new StageBudget(rule, state),
  window: (rule: RuleOf<'window'>, state: DroppingState) => new Window(rule, state),
  overload: (rule: RuleOf<'overload'>, state: DroppingState) => new Overload(rule, state),
};
