import { largestOf, NONE as SHARED_NONE } from '../../collections/index.js';
import { must } from '../broken-promise.js';
import {
  type Decisions,
  Answer as SharedAnswer,
  Decision as SharedDecision,
  DropCode as SharedDropCode,
} from '../decisions.js';
import type { Topology } from '../topology.js';
import { DagColumns } from './dag-columns.js';
import { Flows } from './flows.js';
import { OpenBatches } from './open-batches.js';
import { Requests } from './requests.js';

const NONE = SHARED_NONE;
const Decision = SharedDecision;
const DropCode = SharedDropCode;
const Answer = SharedAnswer;

/** LifeLimits holds the limits that every scheduler's policy has. */
export interface LifeLimits {
  /** `mostTasks` is how many tasks may be in flight; a request beyond them is refused. */
  readonly mostTasks: number;
  /** `mostTries` is how many executions of a task may fail or be lost before its request ends. */
  readonly mostTries: number;
}

/** LifeOptions holds the parts of a RequestLife. */
export interface LifeOptions {
  readonly topology: Topology;
  readonly decisions: Decisions;
  readonly limits: LifeLimits;
}

/** TaskKeeper is what RequestLife asks of the scheduler, which holds the queues. */
export interface TaskKeeper {
  /** leaveQueue takes a waiting task out of its queue, because its request has ended. */
  leaveQueue(task: number): void;
  /** requeue queues a task again whose batch was lost. */
  requeue(at: number, task: number): void;
  /** ended reports, for every task of a request, that the request has its outcome. */
  ended(task: number): void;
  /** judged reports that a request was served to its end, in time or not, or was turned away. */
  judged(request: number, inTime: boolean): void;
}

/**
 * RequestLife owns the life of requests from their arrival to their one outcome, and of their tasks between
 * queues and batches. It is the same for all schedulers. The scheduler decides which queue, which batch and
 * when, and RequestLife reaches it through TaskKeeper.
 */
export class RequestLife {
  readonly requests: Requests;
  /** `graph` and `flows` are those of the routes that are DAGs. */
  readonly graph: DagColumns;
  readonly flows: Flows;
  readonly batches: OpenBatches;
  private isDraining = false;
  private unsettled = 0;
  private wakeTold = Number.POSITIVE_INFINITY;

  private readonly topology: Topology;
  private readonly decisions: Decisions;
  private readonly limits: LifeLimits;

  constructor(
    { topology, decisions, limits }: LifeOptions,
    private readonly keeper: TaskKeeper,
  ) {
    this.topology = topology;
    this.decisions = decisions;
    this.limits = limits;
    this.graph = new DagColumns(topology);
    this.flows = new Flows(this.graph);
    this.requests = new Requests(this.graph.mostStages === 0 ? undefined : this.flows);
    this.batches = new OpenBatches(largestOf(topology.pools.map(({ batch }) => batch)));
  }

  /** pending counts the requests without an outcome. */
  get pending(): number {
    return this.unsettled;
  }

  /** inUse counts the requests, tasks and batches whose numbers are in use. Memory follows these counts. */
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

  /** taskOf is the task of one row of a request, counted from 0. O(row). */
  taskOf(request: number, row: number): number {
    let task = this.requests.firstTask(request);
    for (let i = 0; i < row; i++) task = this.requests.nextTask(task);
    return task;
  }

  /** rowOf is the row of its request that a task is for. O(rows) in a chain. */
  rowOf(task: number): number {
    const flow = this.requests.flowOf(task);
    if (flow !== NONE) return this.flows.rowOf(flow);
    let row = 0;
    let other = this.requests.firstTask(this.requests.requestOf(task));
    for (; other !== task; other = this.requests.nextTask(other)) row += 1;
    return row;
  }

  /**
   * arrived opens a request of `rows` tasks. It drops the request at once while draining, and where more than
   * `mostTasks` tasks would be in flight. Where it has not (`isSettled`), the scheduler queues the tasks.
   * @returns the number of the request
   */
  arrived(model: number, deadlineNs: number, rows: number): number {
    must(rows >= 1 && this.topology.models[model] !== undefined, 'a request has no rows or no model');
    const isFull = this.requests.taskCount + rows > this.limits.mostTasks;
    const request = this.open(model, deadlineNs, rows);
    if (this.isDraining) this.drop(request, DropCode.draining, NONE);
    else if (isFull) this.drop(request, DropCode.queueFull, NONE);
    return request;
  }

  /**
   * turnedAway opens a request that was refused unread, and drops it for overload.
   * @returns the number of the request
   */
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

  /**
   * cancelled ends a request whose client has left.
   * @returns whether this ended it
   */
  cancelled(request: number): boolean {
    if (this.requests.isSettled(request)) return false;
    this.settle(request);
    return true;
  }

  /** due forgets the time that was asked for, so that the next wakeAt is passed on whatever its time. */
  due(): void {
    this.wakeTold = Number.POSITIVE_INFINITY;
  }

  /**
   * decided ends a `decide`: it asks to be woken at `wakeAt` (Infinity: not at all), unless it asked for that time
   * before, and gives back the numbers of retired requests.
   */
  decided(wakeAt: number): void {
    if (wakeAt !== Number.POSITIVE_INFINITY && wakeAt !== this.wakeTold)
      this.decisions.push(Decision.wakeAt, wakeAt);
    this.wakeTold = wakeAt;
    this.requests.flush();
  }

  /** answer ends a request with an Answer. */
  answer(request: number, how: number): void {
    this.decisions.push(Decision.answer, request, how);
    this.settle(request);
  }

  /** drop ends a request without an answer. */
  drop(request: number, reason: number, pool: number): void {
    this.decisions.push(Decision.drop, request, reason, pool);
    this.settle(request);
  }

  /**
   * giveUp ends the request of a task that is too late or can no longer be served. The request fails where an
   * execution of it has failed, and else is dropped: for a device that went down while it executed the
   * request, or because none is up, or because of the deadline.
   */
  giveUp(task: number, pool: number, isUp: boolean): void {
    const request = this.requests.requestOf(task);
    if (this.requests.hasFailed(request)) this.answer(request, Answer.failed);
    else {
      const isDown = !isUp || this.requests.wasLost(request);
      this.drop(request, isDown ? DropCode.deviceDown : DropCode.deadline, pool);
    }
  }

  /**
   * settle ends a request: its decision has been pushed, or its client has left. Its waiting tasks leave
   * their queues. Tasks in batches are left out when their batch is next handled; the request keeps its
   * number until then.
   */
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

  /** putInBatch adds a task to a batch. */
  putInBatch(batch: number, task: number): void {
    this.batches.add(batch, task);
    this.requests.enterBatch(task);
  }

  /**
   * cameBack takes a task out of its batch.
   * @returns whether its request still wants it
   */
  cameBack(task: number): boolean {
    const { requests } = this;
    const request = requests.requestOf(task);
    requests.leaveBatch(task);
    if (!requests.isSettled(request)) return true;
    requests.retireIfDone(request);
    return false;
  }

  /**
   * keepWanted removes the tasks of settled requests from a batch.
   * @returns whether any task is left
   */
  keepWanted(batch: number): boolean {
    const { batches, requests } = this;
    const size = batches.size(batch);
    let kept = 0;
    for (let i = 0; i < size; i++) {
      const task = batches.task(batch, i);
      if (requests.isSettled(requests.requestOf(task))) this.cameBack(task);
      else batches.set(batch, kept++, task);
    }
    this.batches.truncate(batch, kept);
    return kept > 0;
  }

  /**
   * sendOn sends the tasks of a batch that are still wanted to the next pool, and closes the batch where
   * there are none.
   */
  sendOn(batch: number): void {
    if (!this.keepWanted(batch)) {
      this.batches.close(batch);
      return;
    }
    this.batches.setMoving(batch);
    this.decisions.push(Decision.transfer, batch, this.batches.device(batch), NONE);
  }

  /**
   * endTasks ends the tasks of a batch after their last stage, and answers the requests that have no other
   * task left. The batch stays open.
   */
  endTasks(at: number, batch: number): void {
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (this.cameBack(task)) this.endTask(at, task);
    }
  }

  /** endTask ends a task that is at no stage any more, and answers its request where that has no other left. */
  endTask(at: number, task: number): void {
    const request = this.requests.requestOf(task);
    if (!this.requests.endTask(request)) return;
    const inTime = at <= this.requests.deadlineOf(request);
    this.keeper.judged(request, inTime);
    this.answer(request, inTime ? Answer.inTime : Answer.late);
  }

  /**
   * executionFailed queues the tasks of a batch again whose execution failed, and closes the batch. A request
   * fails where its task was alone in the batch, or out of tries.
   */
  executionFailed(at: number, batch: number): void {
    const isAlone = this.batches.size(batch) === 1;
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (!this.cameBack(task)) continue;
      this.requests.failTask(task);
      if (isAlone || this.isOutOfTries(task)) this.answer(this.requests.requestOf(task), Answer.failed);
      else this.keeper.requeue(at, task);
    }
    this.batches.close(batch);
  }

  /**
   * lostWithDevice queues the tasks of a batch again that was on a device that went down, or on its way to
   * one, and closes the batch. A request is dropped where its task is out of tries.
   * @param wasRunning whether the device was executing the batch, which counts as a try
   */
  lostWithDevice(at: number, batch: number, wasRunning: boolean): void {
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (!this.cameBack(task)) continue;
      this.requests.loseTask(task, wasRunning ? 1 : 0);
      if (this.isOutOfTries(task))
        this.drop(this.requests.requestOf(task), DropCode.deviceDown, this.batches.pool(batch));
      else this.keeper.requeue(at, task);
    }
    this.batches.close(batch);
  }

  private isOutOfTries(task: number): boolean {
    return this.requests.triesOf(task) >= this.limits.mostTries;
  }
}
