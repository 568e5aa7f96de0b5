import { FlagColumn, Float64Column, Int32Column, IntList, NONE, Slots } from '../../collections/index.js';
import { must } from '../broken-promise.js';

const QUEUED = 0;
const IN_BATCH = 1;
const ENDED = 2;

/**
 * Requests holds the requests in flight and their tasks, as columns. Slots are used again, so memory follows
 * the number in flight.
 *
 * The state of a request or task (queued, in a batch, tries, outcome) changes only by the transitions that
 * RequestLife calls. Schedulers write where a task waits and what they have promised it.
 */
export class Requests {
  private readonly requestSlots = new Slots();
  private readonly taskSlots = new Slots();

  private readonly model = new Int32Column();
  private readonly deadline = new Float64Column();
  private readonly settled = new FlagColumn();
  private readonly strict = new FlagColumn();
  private readonly missed = new FlagColumn();
  private readonly failed = new FlagColumn();
  private readonly lost = new FlagColumn();
  /**
   * `left` counts the tasks of each request that have not been served to their end, and `out` those that are
   * in batches.
   */
  private readonly left = new Int32Column();
  private readonly out = new Int32Column();
  private readonly first = new Int32Column();

  // The columns below are by task, those above by request.
  private readonly request = new Int32Column();
  private readonly state = new Int32Column();
  private readonly pool = new Int32Column();
  private readonly entry = new Int32Column();
  private readonly queued = new Float64Column();
  private readonly tries = new Int32Column();
  private readonly late = new FlagColumn();
  private readonly sibling = new Int32Column();

  private readonly retired = new IntList();

  /** taskCount is how many tasks have slots in use. */
  get taskCount(): number {
    return this.taskSlots.used;
  }

  /** requestCount is how many requests have slots in use. */
  get requestCount(): number {
    return this.requestSlots.used;
  }

  modelOf(request: number): number {
    return this.model.get(request);
  }

  deadlineOf(request: number): number {
    return this.deadline.get(request);
  }

  /** isSettled tells whether the outcome of a request is decided, or its client is gone. */
  isSettled(request: number): boolean {
    return this.settled.has(request);
  }

  /**
   * isStrict tells whether a request has a deadline of its own, sooner than its model's SLO. An answer after
   * it is not wanted.
   */
  isStrict(request: number): boolean {
    return this.strict.has(request);
  }

  /** isMissed tells whether it is known that the request cannot be in time. */
  isMissed(request: number): boolean {
    return this.missed.has(request);
  }

  /** hasFailed tells whether an execution of a task of the request failed. */
  hasFailed(request: number): boolean {
    return this.failed.has(request);
  }

  /** wasLost tells whether a device went down while it executed a task of the request. */
  wasLost(request: number): boolean {
    return this.lost.has(request);
  }

  /** firstTask is the first task of a request; the others follow by `nextTask`. */
  firstTask(request: number): number {
    return this.first.get(request);
  }

  /** nextTask is the next task of the same request, NONE after the last. */
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

  /** poolOf is the pool that a task waits for or is at, NONE where that is not decided. */
  poolOf(task: number): number {
    return this.pool.get(task);
  }

  /** entryOf is the entry of the task's pipeline, NONE where that is not decided. */
  entryOf(task: number): number {
    return this.entry.get(task);
  }

  queuedAt(task: number): number {
    return this.queued.get(task);
  }

  /** triesOf counts the executions that the task was lost in. */
  triesOf(task: number): number {
    return this.tries.get(task);
  }

  /** isLate tells whether the task stands in a background queue. */
  isLate(task: number): boolean {
    return this.late.has(task);
  }

  /**
   * add takes slots for a request and its tasks.
   * @returns the number of the request
   */
  add(model: number, deadline: number, rows: number): number {
    const request = this.requestSlots.take();
    if (request >= this.model.length) this.growRequests(request + 1);
    this.model.set(request, model);
    this.deadline.set(request, deadline);
    this.settled.set(request, false);
    this.strict.set(request, false);
    this.missed.set(request, false);
    this.failed.set(request, false);
    this.lost.set(request, false);
    this.left.set(request, rows);
    this.out.set(request, 0);
    this.first.set(request, NONE);
    for (let row = 0; row < rows; row++) this.addTask(request);
    return request;
  }

  /** addTask puts a task before the request's other tasks, so that `firstTask` is the task added last. */
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

  /** setEntry gives the task its pipeline. */
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

  /** enterQueue is a transition: the task waits in a queue. */
  enterQueue(task: number): void {
    this.state.set(task, QUEUED);
  }

  /** enterBatch is a transition: the task goes into a batch. */
  enterBatch(task: number): void {
    this.state.set(task, IN_BATCH);
    this.out.add(this.request.get(task), 1);
  }

  /** leaveBatch is a transition: the task comes out of its batch. */
  leaveBatch(task: number): void {
    this.state.set(task, ENDED);
    this.out.add(this.request.get(task), -1);
  }

  /** endWaiting is a transition: the task waits no more, because its request has ended. */
  endWaiting(task: number): void {
    this.state.set(task, ENDED);
  }

  /**
   * endTask is a transition: one task of the request was served to its end.
   * @returns whether that was the last
   */
  endTask(request: number): boolean {
    this.left.add(request, -1);
    return this.left.get(request) === 0;
  }

  /** failTask is a transition: the execution of the task's batch failed. */
  failTask(task: number): void {
    this.tries.add(task, 1);
    this.failed.set(this.request.get(task), true);
  }

  /**
   * loseTask is a transition: the task's device went down.
   * @param tries how many lost executions this counts, 0 where the batch had not begun
   */
  loseTask(task: number, tries: number): void {
    this.tries.add(task, tries);
    if (tries > 0) this.lost.set(this.request.get(task), true);
  }

  /** settle is a transition: the outcome of the request is decided. */
  settle(request: number): void {
    this.settled.set(request, true);
  }

  /**
   * retireIfDone gives back the slots of a settled request at the next `flush`, unless a task of it is in a
   * batch.
   */
  retireIfDone(request: number): void {
    if (this.out.get(request) !== 0) return;
    must(this.settled.has(request), 'a request is retired before its end');
    this.retired.push(request);
  }

  /**
   * flush gives back the slots of retired requests. By now the driver has read, or is about to read, every
   * decision that names them.
   */
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
    this.failed.reach(length);
    this.lost.reach(length);
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
