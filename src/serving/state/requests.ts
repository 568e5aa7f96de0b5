import { FlagColumn, Float64Column, Int32Column, IntList, NONE, Slots } from '../../collections/index.js';
import { must } from '../broken-promise.js';

const QUEUED = 0;
const IN_BATCH = 1;
const ENDED = 2;

/**
 * Requests holds the requests in flight and their tasks, as columns. Slots are used again, so memory follows the number in flight.
 *
 * What a request or a task is at (queued, in a batch, tries, outcome) changes only by the transitions that RequestLife calls;
 * schedulers write where a task waits and what they have promised it.
 */
export class Requests {
  private readonly requestSlots = new Slots();
  private readonly taskSlots = new Slots();

  private readonly model = new Int32Column();
  private readonly deadline = new Float64Column();
  private readonly settled = new FlagColumn();
  private readonly strict = new FlagColumn();
  private readonly missed = new FlagColumn();
  private readonly tried = new FlagColumn();
  private readonly left = new Int32Column();
  private readonly out = new Int32Column();
  private readonly first = new Int32Column();

  private readonly request = new Int32Column();
  private readonly state = new Int32Column();
  private readonly pool = new Int32Column();
  private readonly entry = new Int32Column();
  private readonly queued = new Float64Column();
  private readonly tries = new Int32Column();
  private readonly late = new FlagColumn();
  private readonly sibling = new Int32Column();

  private readonly retired = new IntList();

  /** Tasks whose slots are in use. */
  get taskCount(): number {
    return this.taskSlots.used;
  }

  /** Requests whose slots are in use. */
  get requestCount(): number {
    return this.requestSlots.used;
  }

  modelOf(request: number): number {
    return this.model.get(request);
  }

  deadlineOf(request: number): number {
    return this.deadline.get(request);
  }

  /** Whether its outcome is decided, or its client is gone. */
  isSettled(request: number): boolean {
    return this.settled.has(request);
  }

  /** Whether its deadline is its own, sooner than its model's SLO: an answer after it is not wanted. */
  isStrict(request: number): boolean {
    return this.strict.has(request);
  }

  /** Whether it is known that it cannot be in time. */
  isMissed(request: number): boolean {
    return this.missed.has(request);
  }

  /** Whether a task of it was on a device when that failed. */
  wasTried(request: number): boolean {
    return this.tried.has(request);
  }

  /** The first task of a request; the others follow by `nextTask`. */
  firstTask(request: number): number {
    return this.first.get(request);
  }

  /** The next task of the same request, NONE after the last. */
  nextTask(task: number): number {
    return this.sibling.get(task);
  }

  requestOf(task: number): number {
    return this.request.get(task);
  }

  isQueued(task: number): boolean {
    return this.state.get(task) === QUEUED;
  }

  isInBatch(task: number): boolean {
    return this.state.get(task) === IN_BATCH;
  }

  /** The pool a task waits for or is at, NONE where that is not decided. */
  poolOf(task: number): number {
    return this.pool.get(task);
  }

  /** The first pool of its pipeline, NONE where that is not decided. */
  entryOf(task: number): number {
    return this.entry.get(task);
  }

  queuedAt(task: number): number {
    return this.queued.get(task);
  }

  /** Executions that the task was lost in. */
  triesOf(task: number): number {
    return this.tries.get(task);
  }

  /** Whether it stands in a background queue. */
  isLate(task: number): boolean {
    return this.late.has(task);
  }

  add(model: number, deadline: number, rows: number): number {
    const request = this.requestSlots.take();
    if (request >= this.model.length) this.growRequests(request + 1);
    this.model.set(request, model);
    this.deadline.set(request, deadline);
    this.settled.set(request, false);
    this.strict.set(request, false);
    this.missed.set(request, false);
    this.tried.set(request, false);
    this.left.set(request, rows);
    this.out.set(request, 0);
    this.first.set(request, NONE);
    for (let row = 0; row < rows; row++) this.addTask(request);
    return request;
  }

  /** Tasks are linked from the last row to the first. */
  private addTask(request: number): void {
    const task = this.taskSlots.take();
    if (task >= this.request.length) this.growTasks(task + 1);
    this.request.set(task, request);
    this.state.set(task, ENDED);
    this.pool.set(task, NONE);
    this.entry.set(task, NONE);
    this.tries.set(task, 0);
    this.late.set(task, false);
    this.sibling.set(task, this.first.get(request));
    this.first.set(request, task);
  }

  setStrict(request: number, strict: boolean): void {
    this.strict.set(request, strict);
  }

  setMissed(request: number): void {
    this.missed.set(request, true);
  }

  /** The task is given its pipeline. */
  setEntry(task: number, entry: number): void {
    this.entry.set(task, entry);
  }

  setPool(task: number, pool: number): void {
    this.pool.set(task, pool);
  }

  setQueuedAt(task: number, at: number): void {
    this.queued.set(task, at);
  }

  setLate(task: number, late: boolean): void {
    this.late.set(task, late);
  }

  /** Transition: the task waits in a queue. */
  enterQueue(task: number): void {
    this.state.set(task, QUEUED);
  }

  /** Transition: the task goes into a batch. */
  enterBatch(task: number): void {
    this.state.set(task, IN_BATCH);
    this.out.add(this.request.get(task), 1);
  }

  /** Transition: the task comes out of its batch. */
  leaveBatch(task: number): void {
    this.state.set(task, ENDED);
    this.out.add(this.request.get(task), -1);
  }

  /** Transition: the task waits no more, its request having ended otherwise. */
  endWaiting(task: number): void {
    this.state.set(task, ENDED);
  }

  /** Transition: one task of the request was served to its end. @returns whether that was the last */
  endTask(request: number): boolean {
    this.left.add(request, -1);
    return this.left.get(request) === 0;
  }

  /** Transition: the task was lost with its batch. @param tries what that counts, 0 where the batch had not begun */
  loseTask(task: number, tries: number): void {
    this.tries.add(task, tries);
    if (tries > 0) this.tried.set(this.request.get(task), true);
  }

  /** Transition: the request's outcome is decided. */
  settle(request: number): void {
    this.settled.set(request, true);
  }

  /** Gives back the request's slots at the next `flush`, where it has its outcome and no task is in a batch. */
  retireIfDone(request: number): void {
    if (this.out.get(request) !== 0) return;
    must(this.settled.has(request), 'a request is retired before its end');
    this.retired.push(request);
  }

  /** Gives back the slots of retired requests: the driver has read, or is about to read, all that names them. */
  flush(): void {
    for (let i = 0; i < this.retired.length; i++) {
      const request = this.retired.get(i);
      for (let task = this.firstTask(request); task !== NONE; task = this.nextTask(task))
        this.taskSlots.giveBack(task);
      this.requestSlots.giveBack(request);
    }
    this.retired.clear();
  }

  private growRequests(length: number): void {
    this.model.reach(length);
    this.deadline.reach(length);
    this.settled.reach(length);
    this.strict.reach(length);
    this.missed.reach(length);
    this.tried.reach(length);
    this.left.reach(length);
    this.out.reach(length);
    this.first.reach(length);
  }

  private growTasks(length: number): void {
    this.request.reach(length);
    this.state.reach(length);
    this.pool.reach(length);
    this.entry.reach(length);
    this.queued.reach(length);
    this.tries.reach(length);
    this.late.reach(length);
    this.sibling.reach(length);
  }
}
