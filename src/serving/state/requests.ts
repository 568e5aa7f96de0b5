import { grownCapacity, grownColumn, IntList, NONE, Slots } from '../../collections/index.js';
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

  private model = new Int32Array(0);
  private deadline = new Float64Array(0);
  private settled = new Uint8Array(0);
  private strict = new Uint8Array(0);
  private missed = new Uint8Array(0);
  private failed = new Uint8Array(0);
  private lost = new Uint8Array(0);
  /**
   * `left` counts the tasks of each request that have not been served to their end, and `out` those that are
   * in batches.
   */
  private left = new Int32Array(0);
  private out = new Int32Array(0);
  private first = new Int32Array(0);

  // The columns below are by task, those above by request.
  private request = new Int32Array(0);
  private state = new Uint8Array(0);
  private pool = new Int32Array(0);
  private entry = new Int32Array(0);
  private queued = new Float64Array(0);
  private tries = new Int32Array(0);
  private late = new Uint8Array(0);
  private sibling = new Int32Array(0);

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
    return this.model[request] as number;
  }

  deadlineOf(request: number): number {
    return this.deadline[request] as number;
  }

  /** isSettled tells whether the outcome of a request is decided, or its client is gone. */
  isSettled(request: number): boolean {
    return this.settled[request] === 1;
  }

  /**
   * isStrict tells whether a request has a deadline of its own, sooner than its model's SLO. An answer after
   * it is not wanted.
   */
  isStrict(request: number): boolean {
    return this.strict[request] === 1;
  }

  /** isMissed tells whether it is known that the request cannot be in time. */
  isMissed(request: number): boolean {
    return this.missed[request] === 1;
  }

  /** hasFailed tells whether an execution of a task of the request failed. */
  hasFailed(request: number): boolean {
    return this.failed[request] === 1;
  }

  /** wasLost tells whether a device went down while it executed a task of the request. */
  wasLost(request: number): boolean {
    return this.lost[request] === 1;
  }

  /** firstTask is the first task of a request; the others follow by `nextTask`. */
  firstTask(request: number): number {
    return this.first[request] as number;
  }

  /** nextTask is the next task of the same request, NONE after the last. */
  nextTask(task: number): number {
    return this.sibling[task] as number;
  }

  requestOf(task: number): number {
    return this.request[task] as number;
  }

  isQueued(task: number): boolean {
    return (this.state[task] as number) === QUEUED;
  }

  isInBatch(task: number): boolean {
    return (this.state[task] as number) === IN_BATCH;
  }

  /** poolOf is the pool that a task waits for or is at, NONE where that is not decided. */
  poolOf(task: number): number {
    return this.pool[task] as number;
  }

  /** entryOf is the entry of the task's pipeline, NONE where that is not decided. */
  entryOf(task: number): number {
    return this.entry[task] as number;
  }

  queuedAt(task: number): number {
    return this.queued[task] as number;
  }

  /** triesOf counts the executions of the task that failed or were lost with a device. */
  triesOf(task: number): number {
    return this.tries[task] as number;
  }

  /** isLate tells whether the task stands in a background queue. */
  isLate(task: number): boolean {
    return this.late[task] === 1;
  }

  /**
   * add takes slots for a request and its tasks.
   * @returns the number of the request
   */
  add(model: number, deadline: number, rows: number): number {
    const request = this.requestSlots.take();
    if (request >= this.model.length) this.growRequests(request + 1);
    this.model[request] = model;
    this.deadline[request] = deadline;
    this.settled[request] = 0;
    this.strict[request] = 0;
    this.missed[request] = 0;
    this.failed[request] = 0;
    this.lost[request] = 0;
    this.left[request] = rows;
    this.out[request] = 0;
    this.first[request] = NONE;
    for (let row = 0; row < rows; row++) this.addTask(request);
    return request;
  }

  /** addTask puts a task before the request's other tasks, so that `firstTask` is the task added last. */
  private addTask(request: number): void {
    const task = this.taskSlots.take();
    if (task >= this.request.length) this.growTasks(task + 1);
    this.request[task] = request;
    this.state[task] = ENDED;
    this.pool[task] = NONE;
    this.entry[task] = NONE;
    this.tries[task] = 0;
    this.late[task] = 0;
    this.sibling[task] = this.first[request] as number;
    this.first[request] = task;
  }

  setStrict(request: number, strict: boolean): void {
    this.strict[request] = strict ? 1 : 0;
  }

  setMissed(request: number): void {
    this.missed[request] = 1;
  }

  /** setEntry gives the task its pipeline. */
  setEntry(task: number, entry: number): void {
    this.entry[task] = entry;
  }

  setPool(task: number, pool: number): void {
    this.pool[task] = pool;
  }

  setQueuedAt(task: number, at: number): void {
    this.queued[task] = at;
  }

  setLate(task: number, late: boolean): void {
    this.late[task] = late ? 1 : 0;
  }

  /** enterQueue is a transition: the task waits in a queue. */
  enterQueue(task: number): void {
    this.state[task] = QUEUED;
  }

  /** enterBatch is a transition: the task goes into a batch. */
  enterBatch(task: number): void {
    this.state[task] = IN_BATCH;
    this.out[this.request[task] as number]! += 1;
  }

  /** leaveBatch is a transition: the task comes out of its batch. */
  leaveBatch(task: number): void {
    this.state[task] = ENDED;
    this.out[this.request[task] as number]! -= 1;
  }

  /** endWaiting is a transition: the task waits no more, because its request has ended. */
  endWaiting(task: number): void {
    this.state[task] = ENDED;
  }

  /**
   * endTask is a transition: one task of the request was served to its end.
   * @returns whether that was the last
   */
  endTask(request: number): boolean {
    this.left[request]! -= 1;
    return (this.left[request] as number) === 0;
  }

  /** failTask is a transition: the execution of the task's batch failed. */
  failTask(task: number): void {
    this.tries[task]! += 1;
    this.failed[this.request[task] as number] = 1;
  }

  /**
   * loseTask is a transition: the task's device went down.
   * @param tries how many lost executions this counts, 0 where the batch had not begun
   */
  loseTask(task: number, tries: number): void {
    this.tries[task]! += tries;
    if (tries > 0) this.lost[this.request[task] as number] = 1;
  }

  /** settle is a transition: the outcome of the request is decided. */
  settle(request: number): void {
    this.settled[request] = 1;
  }

  /**
   * retireIfDone gives back the slots of a settled request at the next `flush`, unless a task of it is in a
   * batch.
   */
  retireIfDone(request: number): void {
    if ((this.out[request] as number) !== 0) return;
    must(this.settled[request] === 1, 'a request is retired before its end');
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
    const capacity = grownCapacity(this.model.length, length);
    this.model = grownColumn(this.model, capacity);
    this.deadline = grownColumn(this.deadline, capacity);
    this.settled = grownColumn(this.settled, capacity);
    this.strict = grownColumn(this.strict, capacity);
    this.missed = grownColumn(this.missed, capacity);
    this.failed = grownColumn(this.failed, capacity);
    this.lost = grownColumn(this.lost, capacity);
    this.left = grownColumn(this.left, capacity);
    this.out = grownColumn(this.out, capacity);
    this.first = grownColumn(this.first, capacity);
  }

  private growTasks(length: number): void {
    const capacity = grownCapacity(this.request.length, length);
    this.request = grownColumn(this.request, capacity);
    this.state = grownColumn(this.state, capacity);
    this.pool = grownColumn(this.pool, capacity);
    this.entry = grownColumn(this.entry, capacity);
    this.queued = grownColumn(this.queued, capacity);
    this.tries = grownColumn(this.tries, capacity);
    this.late = grownColumn(this.late, capacity);
    this.sibling = grownColumn(this.sibling, capacity);
  }
}
