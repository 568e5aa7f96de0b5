import { Lists, NONE as SHARED_NONE } from '../../../collections/index.js';
import type { PlanColumns, Requests } from '../../state/index.js';
import type { LateRule } from '../policy.js';
import type { SharedState } from '../shared-state.js';

const NONE = SHARED_NONE;

type KeptRule = Extract<LateRule, { kind: 'background' }>;

function keptBy(rule: LateRule): KeptRule | undefined {
  switch (rule.kind) {
    case 'drop':
      return undefined;
    case 'background':
      return rule;
  }
}

/**
 * Background holds the tasks that will be late and are answered all the same, on devices that have nothing
 * else to do (LateRule).
 */
export class Background {
  /** `waiting` holds the tasks of each queue, in the order they were given up. */
  private readonly waiting: Lists;
  /**
   * `missedShare` is the share of each model's last requests that were not in time: a moving average. Models that share
   * their pools have one, that of the first.
   */
  private readonly missedShare: Float64Array;

  private readonly columns: PlanColumns;
  /** The part of the rule by which tasks are kept, undefined where none is. */
  private readonly kept: KeptRule | undefined;
  private readonly requests: Requests;

  constructor(
    rule: LateRule,
    { columns, requests, queues }: Pick<SharedState, 'columns' | 'requests' | 'queues'>,
  ) {
    this.columns = columns;
    this.kept = keptBy(rule);
    this.requests = requests;
    this.waiting = new Lists(queues.count);
    this.missedShare = new Float64Array(columns.sloNs.length);
  }

  /** takes returns whether a task that cannot be in time is kept: under `background`, if its model is not overloaded. */
  takes(model: number): boolean {
    const { kept } = this;
    if (kept === undefined) return false;
    return (this.missedShare[this.columns.sharing[model] as number] as number) <= kept.mostMissed;
  }

  /**
   * observe reports that a request of the model was in time, or is known not to be. It is called once per
   * request.
   */
  observe(model: number, missed: boolean): void {
    const { kept } = this;
    if (kept === undefined) return;
    const shared = this.columns.sharing[model] as number;
    const share = this.missedShare[shared] as number;
    this.missedShare[shared] = share + ((missed ? 1 : 0) - share) / kept.window;
  }

  add(queue: number, task: number): void {
    this.requests.setLate(task, true);
    this.waiting.push(queue, task);
  }

  remove(queue: number, task: number): void {
    this.requests.setLate(task, false);
    this.waiting.remove(queue, task);
  }

  size(queue: number): number {
    return this.waiting.size(queue);
  }

  /** first is the task that has waited longest, NONE where none waits. */
  first(queue: number): number {
    return this.waiting.first(queue);
  }

  /**
   * batchSize is the size of the next batch, of the tasks that have waited longest. A task that was in a batch that
   * failed or was lost as it ran is tried alone.
   */
  batchSize(queue: number, pool: number): number {
    const most = Math.min(this.columns.batch[pool] as number, this.waiting.size(queue));
    let task = this.first(queue);
    for (let size = 0; size < most; size++, task = this.waiting.next(task)) {
      if (this.requests.triesOf(task) > 0) return Math.max(1, size);
    }
    return most;
  }

  /**
   * dropTime is the first instant at which a waiting task is given up for good: Infinity where there is no
   * task, or none is ever given up.
   */
  dropTime(task: number): number {
    const { kept } = this;
    if (task === NONE || kept === undefined) return Number.POSITIVE_INFINITY;
    const request = this.requests.requestOf(task);
    const sloNs = this.columns.sloNs[this.requests.modelOf(request)] as number;
    const deadline = this.requests.deadlineOf(request);
    return Math.floor(deadline + kept.patience * sloNs) + 1;
  }
}
