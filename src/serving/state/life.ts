import { NONE } from '../../collections/index.js';
import { must } from '../broken-promise.js';
import { Answer, Decision, type Decisions, DropCode } from '../decisions.js';
import type { Topology } from '../topology.js';
import { Batches } from './batches.js';
import { Requests, TaskState } from './requests.js';

interface Bounds {
  /** More tasks in flight than this are refused. */
  mostTasks: number;
  /** Executions a task may be lost in before its request fails. */
  mostTries: number;
}

/**
 * What all schedulers over a plan's pools share: requests from their arrival to their one outcome, tasks between queues and
 * batches. Which queue, which batch and when is theirs.
 */
export abstract class BatchingCore {
  protected readonly requests = new Requests();
  protected readonly batches: Batches;
  protected draining = false;
  private unsettled = 0;
  private wakeTold = Number.POSITIVE_INFINITY;

  protected constructor(
    protected readonly topology: Topology,
    protected readonly decisions: Decisions,
    private readonly bounds: Bounds,
  ) {
    this.batches = new Batches(Math.max(...topology.pools.map(({ batch }) => batch)));
  }

  /** A request was taken in: its tasks are to be queued. */
  protected abstract admit(at: number, request: number): void;
  /** A waiting task leaves its queue, its request having ended otherwise. */
  protected abstract leaveQueue(task: number): void;
  /** A task whose batch was lost is queued again. */
  protected abstract requeue(at: number, task: number): void;
  /** A request was served to its end, or turned away. */
  protected judged(_request: number, _inTime: boolean): void {}

  get pending(): number {
    return this.unsettled;
  }

  /** Requests, tasks and batches whose numbers are in use: what memory follows. */
  get inUse(): { requests: number; tasks: number; batches: number } {
    const { requestCount, taskCount } = this.requests;
    return { requests: requestCount, tasks: taskCount, batches: this.batches.count };
  }

  taskOf(request: number, row: number): number {
    let task = this.requests.first(request);
    for (let i = 0; i < row; i++) task = this.requests.nextOf(task);
    return task;
  }

  batchSize(batch: number): number {
    return this.batches.size(batch);
  }

  batchTask(batch: number, i: number): number {
    return this.batches.task(batch, i);
  }

  batchPool(batch: number): number {
    return this.batches.pool(batch);
  }

  batchDevice(batch: number): number {
    return this.batches.device(batch);
  }

  arrived(at: number, model: number, deadlineNs: number, rows: number): number {
    must(rows >= 1 && this.topology.models[model] !== undefined, 'a request has no rows or no model');
    const full = this.requests.taskCount + rows > this.bounds.mostTasks;
    const request = this.open(model, deadlineNs, rows);
    if (this.draining) this.drop(request, DropCode.draining, NONE);
    else if (full) this.drop(request, DropCode.queueFull, NONE);
    else this.admit(at, request);
    return request;
  }

  turnedAway(at: number, model: number): number {
    const request = this.open(model, at, 1);
    this.judged(request, false);
    this.drop(request, DropCode.overload, NONE);
    return request;
  }

  private open(model: number, deadlineNs: number, rows: number): number {
    this.unsettled += 1;
    return this.requests.add(model, deadlineNs, rows);
  }

  cancelled(_at: number, request: number): boolean {
    if (this.requests.settled[request] === 1) return false;
    this.settle(request);
    return true;
  }

  due(_at: number): void {
    this.wakeTold = Number.POSITIVE_INFINITY;
  }

  /** Ends a `decide`: asks to be woken, and gives back the numbers of what has ended. */
  protected decided(wakeAt: number): void {
    if (wakeAt !== Number.POSITIVE_INFINITY && wakeAt !== this.wakeTold)
      this.decisions.push(Decision.wakeAt, wakeAt);
    this.wakeTold = wakeAt;
    this.requests.flush();
  }

  protected deadlineOf(task: number): number {
    return this.requests.deadline[this.requests.request[task] as number] as number;
  }

  protected modelOf(task: number): number {
    return this.requests.model[this.requests.request[task] as number] as number;
  }

  protected answer(request: number, how: number): void {
    this.decisions.push(Decision.answer, request, how);
    this.settle(request);
  }

  protected drop(request: number, reason: number, pool: number): void {
    this.decisions.push(Decision.drop, request, reason, pool);
    this.settle(request);
  }

  /** A task is too late, or can no longer be served: its request is dropped, or failed where it was lost before. */
  protected giveUp(task: number, pool: number, isUp: boolean): void {
    const request = this.requests.request[task] as number;
    if (this.requests.tried[request] === 1) this.answer(request, Answer.failed);
    else this.drop(request, isUp ? DropCode.deadline : DropCode.deviceDown, pool);
  }

  /** The outcome is decided: its waiting tasks leave the queues, those in batches will be ignored. */
  private settle(request: number): void {
    const { requests } = this;
    requests.settled[request] = 1;
    this.unsettled -= 1;
    for (let task = requests.first(request); task !== NONE; task = requests.nextOf(task)) {
      if (requests.state[task] === TaskState.queued) {
        this.leaveQueue(task);
        requests.state[task] = TaskState.ended;
      }
      this.taskEnds(task);
    }
    if (requests.out[request] === 0) requests.retire(request);
  }

  /** A task's request has its outcome. */
  protected taskEnds(_task: number): void {}

  /** A task goes into a batch. */
  protected putInBatch(batch: number, task: number): void {
    this.batches.add(batch, task);
    this.wentOut(task);
  }

  private wentOut(task: number): void {
    this.requests.state[task] = TaskState.inBatch;
    this.requests.out[this.requests.request[task] as number]! += 1;
  }

  /** A task leaves its batch; @returns whether its request still wants it. */
  protected cameBack(task: number): boolean {
    const { requests } = this;
    const request = requests.request[task] as number;
    requests.state[task] = TaskState.ended;
    requests.out[request]! -= 1;
    if (requests.settled[request] === 0) return true;
    if (requests.out[request] === 0) requests.retire(request);
    return false;
  }

  /** Takes out of a batch what its clients no longer want; @returns whether anything is left. */
  protected keepWanted(batch: number): boolean {
    let kept = 0;
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (!this.cameBack(task)) continue;
      this.wentOut(task);
      this.batches.set(batch, kept++, task);
    }
    this.batches.truncate(batch, kept);
    return kept > 0;
  }

  /** Sends on what is still wanted; an empty batch ends. */
  protected sendOn(batch: number): void {
    if (!this.keepWanted(batch)) {
      this.batches.close(batch);
      return;
    }
    this.batches.setMoving(batch);
    this.decisions.push(Decision.transfer, batch, this.batches.device(batch), NONE);
  }

  /** A batch's tasks have been served: requests without others are answered. The batch stays open. */
  protected endTasks(at: number, batch: number): void {
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (!this.cameBack(task)) continue;
      const request = this.requests.request[task] as number;
      this.requests.left[request]! -= 1;
      if (this.requests.left[request] !== 0) continue;
      const inTime = at <= (this.requests.deadline[request] as number);
      this.judged(request, inTime);
      this.answer(request, inTime ? Answer.inTime : Answer.late);
    }
  }

  /**
   * A batch was lost: its tasks are queued again, or their requests fail. The batch ends.
   * @param tries what it counts for them: 1 if it was running
   */
  protected retry(at: number, batch: number, tries: number, givenUp: boolean): void {
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (!this.cameBack(task)) continue;
      const request = this.requests.request[task] as number;
      this.requests.tries[task]! += tries;
      if (tries > 0) this.requests.tried[request] = 1;
      if (givenUp || (this.requests.tries[task] as number) >= this.bounds.mostTries)
        this.answer(request, Answer.failed);
      else this.requeue(at, task);
    }
    this.batches.close(batch);
  }
}
