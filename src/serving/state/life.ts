import { NONE } from '../../collections/index.js';
import { must } from '../broken-promise.js';
import { Answer, Decision, type Decisions, DropCode } from '../decisions.js';
import type { Topology } from '../topology.js';
import { Batches } from './batches.js';
import { Requests } from './requests.js';

/** Limits that every scheduler's policy has. */
export interface LifeLimits {
  /** More tasks in flight than this are refused. */
  readonly mostTasks: number;
  /** Executions a task may be lost in before its request fails. */
  readonly mostTries: number;
}

/** What a scheduler does when the life of a request reaches into its queues. */
export interface TaskKeeper {
  /** A waiting task leaves its queue, its request having ended otherwise. */
  leaveQueue(task: number): void;
  /** A task whose batch was lost is queued again. */
  requeue(at: number, task: number): void;
  /** The request of the task has its outcome. */
  ended(task: number): void;
  /** A request was served to its end, or turned away. */
  judged(request: number, inTime: boolean): void;
}

/**
 * RequestLife is the life of requests from their arrival to their one outcome, and of their tasks between queues and batches: the
 * same for all schedulers. Which queue, which batch and when is the scheduler's, whom it asks by TaskKeeper.
 */
export class RequestLife {
  readonly requests = new Requests();
  readonly batches: Batches;
  private isDraining = false;
  private unsettled = 0;
  private wakeTold = Number.POSITIVE_INFINITY;

  constructor(
    private readonly topology: Topology,
    private readonly decisions: Decisions,
    private readonly limits: LifeLimits,
    private readonly keeper: TaskKeeper,
  ) {
    this.batches = new Batches(Math.max(...topology.pools.map(({ batch }) => batch)));
  }

  /** Requests without an outcome. */
  get pending(): number {
    return this.unsettled;
  }

  /** Requests, tasks and batches whose numbers are in use: what memory follows. */
  get inUse(): { requests: number; tasks: number; batches: number } {
    const { requestCount, taskCount } = this.requests;
    return { requests: requestCount, tasks: taskCount, batches: this.batches.count };
  }

  get draining(): boolean {
    return this.isDraining;
  }

  drain(): void {
    this.isDraining = true;
  }

  /** The task of a row of a request. O(row). */
  taskOf(request: number, row: number): number {
    let task = this.requests.firstTask(request);
    for (let i = 0; i < row; i++) task = this.requests.nextTask(task);
    return task;
  }

  /** A request of `rows` tasks came. Where it is not refused at once (`isSettled`), the scheduler queues its tasks. */
  arrived(model: number, deadlineNs: number, rows: number): number {
    must(rows >= 1 && this.topology.models[model] !== undefined, 'a request has no rows or no model');
    const isFull = this.requests.taskCount + rows > this.limits.mostTasks;
    const request = this.open(model, deadlineNs, rows);
    if (this.isDraining) this.drop(request, DropCode.draining, NONE);
    else if (isFull) this.drop(request, DropCode.queueFull, NONE);
    return request;
  }

  /** A request that would be dropped was not read. */
  turnedAway(at: number, model: number): number {
    const request = this.open(model, at, 1);
    this.keeper.judged(request, false);
    this.drop(request, DropCode.overload, NONE);
    return request;
  }

  private open(model: number, deadlineNs: number, rows: number): number {
    this.unsettled += 1;
    return this.requests.add(model, deadlineNs, rows);
  }

  /** The request's client left. @returns whether that ended it */
  cancelled(request: number): boolean {
    if (this.requests.isSettled(request)) return false;
    this.settle(request);
    return true;
  }

  /** The time asked for has come: the next one is told whatever it is. */
  due(): void {
    this.wakeTold = Number.POSITIVE_INFINITY;
  }

  /** Ends a `decide`: asks to be woken, and gives back the numbers of what has ended. */
  decided(wakeAt: number): void {
    if (wakeAt !== Number.POSITIVE_INFINITY && wakeAt !== this.wakeTold)
      this.decisions.push(Decision.wakeAt, wakeAt);
    this.wakeTold = wakeAt;
    this.requests.flush();
  }

  answer(request: number, how: number): void {
    this.decisions.push(Decision.answer, request, how);
    this.settle(request);
  }

  drop(request: number, reason: number, pool: number): void {
    this.decisions.push(Decision.drop, request, reason, pool);
    this.settle(request);
  }

  /** A task is too late, or can no longer be served: its request is dropped, or failed where it was lost before. */
  giveUp(task: number, pool: number, isUp: boolean): void {
    const request = this.requests.requestOf(task);
    if (this.requests.wasTried(request)) this.answer(request, Answer.failed);
    else this.drop(request, isUp ? DropCode.deadline : DropCode.deviceDown, pool);
  }

  /** The outcome is decided: waiting tasks leave their queues, those in batches will be ignored. */
  private settle(request: number): void {
    const { requests } = this;
    requests.settle(request);
    this.unsettled -= 1;
    for (let task = requests.firstTask(request); task !== NONE; task = requests.nextTask(task)) {
      if (requests.isQueued(task)) {
        this.keeper.leaveQueue(task);
        requests.endWaiting(task);
      }
      this.keeper.ended(task);
    }
    requests.retireIfDone(request);
  }

  /** A task goes into a batch. */
  putInBatch(batch: number, task: number): void {
    this.batches.add(batch, task);
    this.requests.enterBatch(task);
  }

  /** A task leaves its batch; @returns whether its request still wants it. */
  cameBack(task: number): boolean {
    const { requests } = this;
    const request = requests.requestOf(task);
    requests.leaveBatch(task);
    if (!requests.isSettled(request)) return true;
    requests.retireIfDone(request);
    return false;
  }

  /** Takes out of a batch what its clients no longer want; @returns whether anything is left. */
  keepWanted(batch: number): boolean {
    let kept = 0;
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (!this.cameBack(task)) continue;
      this.requests.enterBatch(task);
      this.batches.set(batch, kept++, task);
    }
    this.batches.truncate(batch, kept);
    return kept > 0;
  }

  /** Sends on what is still wanted; an empty batch ends. */
  sendOn(batch: number): void {
    if (!this.keepWanted(batch)) {
      this.batches.close(batch);
      return;
    }
    this.batches.setMoving(batch);
    this.decisions.push(Decision.transfer, batch, this.batches.device(batch), NONE);
  }

  /** A batch's tasks have been served to their end: requests without others are answered. The batch stays open. */
  endTasks(at: number, batch: number): void {
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (!this.cameBack(task)) continue;
      const request = this.requests.requestOf(task);
      if (!this.requests.endTask(request)) continue;
      const inTime = at <= this.requests.deadlineOf(request);
      this.keeper.judged(request, inTime);
      this.answer(request, inTime ? Answer.inTime : Answer.late);
    }
  }

  /**
   * A batch was lost: its tasks are queued again, or their requests fail. The batch ends.
   * @param tries what it counts for them: 1 if it was running
   */
  retry(at: number, batch: number, tries: number, isGivenUp: boolean): void {
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (!this.cameBack(task)) continue;
      this.requests.loseTask(task, tries);
      if (isGivenUp || this.requests.triesOf(task) >= this.limits.mostTries)
        this.answer(this.requests.requestOf(task), Answer.failed);
      else this.keeper.requeue(at, task);
    }
    this.batches.close(batch);
  }
}
