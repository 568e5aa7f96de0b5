import { grownCapacity, grownColumn, IntList, NONE as SHARED_NONE, Slots } from '../../collections/index.js';
import { must } from '../broken-promise.js';
import type { Flows } from './flows.js';

const NONE = SHARED_NONE;

const QUEUED = 0;
const IN_BATCH = 1;
const ENDED = 2;

// A request and a task take a row of eight numbers each: what is read together then lies together, and one array is
// looked up instead of many. The names below are the places in a row.
const ROW = 3;
const MODEL = 0;
const FLAGS = 1;
/** The tasks of the request that have not been served to their end, and those that are in batches. */
const LEFT = 2;
const OUT = 3;
const FIRST = 4;
/** The last task in the list of the request's tasks, and the number of its rows. */
const LAST = 5;
const ROWS = 6;

const REQUEST = 0;
const STATE = 1;
const POOL = 2;
const ENTRY = 3;
const TRIES = 4;
const LIST = 5;
const SIBLING = 6;
const FLOW = 7;

/** List says in which list of a queue a waiting task stands. */
const List = { waiting: 0, background: 1, collected: 2 } as const;

/** Flag numbers the bits of a request's FLAGS. */
const Flag = { settled: 1, strict: 2, missed: 4, failed: 8, lost: 16 } as const;

/**
 * Requests holds the requests in flight and their tasks, as rows of typed arrays. Slots are used again, so memory
 * follows the number in flight.
 *
 * The state of a request or task (queued, in a batch, tries, outcome) changes only by the transitions that
 * RequestLife calls. Schedulers write where a task waits and what they have promised it.
 */
export class Requests {
  private readonly requestSlots = new Slots();
  private readonly taskSlots = new Slots();

  private requests = new Int32Array(0);
  private tasks = new Int32Array(0);
  /** The deadline of each request, and again of each task's request. */
  private deadline = new Float64Array(0);
  private weight = new Float64Array(0);
  private taskDeadline = new Float64Array(0);
  /** `queued` is when each task entered its queue. */
  private queued = new Float64Array(0);

  private readonly retired = new IntList();

  /** @param flows those of the rows of requests that pass a DAG; only chains are served where they are absent */
  constructor(private readonly flows?: Flows) {}

  /** taskCount is how many tasks have slots in use. */
  get taskCount(): number {
    return this.taskSlots.used;
  }

  /** requestCount is how many requests have slots in use. */
  get requestCount(): number {
    return this.requestSlots.used;
  }

  modelOf(request: number): number {
    return this.requests[(request << ROW) + MODEL] as number;
  }

  deadlineOf(request: number): number {
    return this.deadline[request] as number;
  }

  /** deadlineOfTask is the deadline of a task's request. */
  deadlineOfTask(task: number): number {
    return this.taskDeadline[task] as number;
  }

  /** weightOf is how much it counts that a request is in time. */
  weightOf(request: number): number {
    return this.weight[request] as number;
  }

  /** isSettled returns whether the outcome of a request is decided, or its client is gone. */
  isSettled(request: number): boolean {
    return this.hasFlag(request, Flag.settled);
  }

  /**
   * isStrict returns whether a request has a deadline of its own, sooner than its model's SLO. An answer after
   * it is not wanted.
   */
  isStrict(request: number): boolean {
    return this.hasFlag(request, Flag.strict);
  }

  /** isMissed returns whether it is known that the request cannot be in time. */
  isMissed(request: number): boolean {
    return this.hasFlag(request, Flag.missed);
  }

  /** hasFailed returns whether an execution of a task of the request failed. */
  hasFailed(request: number): boolean {
    return this.hasFlag(request, Flag.failed);
  }

  /** wasLost returns whether a device went down while it executed a task of the request. */
  wasLost(request: number): boolean {
    return this.hasFlag(request, Flag.lost);
  }

  /** firstTask is the first task of a request; the others follow by `nextTask`. */
  firstTask(request: number): number {
    return this.requests[(request << ROW) + FIRST] as number;
  }

  /** nextTask is the next task of the same request, NONE after the last. */
  nextTask(task: number): number {
    return this.tasks[(task << ROW) + SIBLING] as number;
  }

  requestOf(task: number): number {
    return this.tasks[(task << ROW) + REQUEST] as number;
  }

  /** rowsOf is the number of rows of a request. */
  rowsOf(request: number): number {
    return this.requests[(request << ROW) + ROWS] as number;
  }

  /** flowOf is the flow of the task's row (Flows), NONE where its route is a chain. */
  flowOf(task: number): number {
    return this.tasks[(task << ROW) + FLOW] as number;
  }

  /** isBegunBeside returns whether a stage parallel to the task's has taken its row on. */
  isBegunBeside(task: number): boolean {
    const flow = this.flowOf(task);
    return flow !== NONE && this.flows?.isBegunBeside(flow, this.poolOf(task)) === true;
  }

  isQueued(task: number): boolean {
    return this.tasks[(task << ROW) + STATE] === QUEUED;
  }

  isInBatch(task: number): boolean {
    return this.tasks[(task << ROW) + STATE] === IN_BATCH;
  }

  /** poolOf is the pool that a task waits for or is at, NONE where that is not decided. */
  poolOf(task: number): number {
    return this.tasks[(task << ROW) + POOL] as number;
  }

  /** entryOf is the entry of the task's pipeline, NONE where that is not decided. */
  entryOf(task: number): number {
    return this.tasks[(task << ROW) + ENTRY] as number;
  }

  queuedAt(task: number): number {
    return this.queued[task] as number;
  }

  /** triesOf counts the executions of the task that failed or were lost with a device. */
  triesOf(task: number): number {
    return this.tasks[(task << ROW) + TRIES] as number;
  }

  /** isLate returns whether the task stands in a background queue. */
  isLate(task: number): boolean {
    return this.tasks[(task << ROW) + LIST] === List.background;
  }

  /** isCollected returns whether the task stands in the batch that its device executes next. */
  isCollected(task: number): boolean {
    return this.tasks[(task << ROW) + LIST] === List.collected;
  }

  /**
   * add takes slots for a request and its tasks.
   * @returns the number of the request
   */
  add(model: number, deadline: number, rows: number): number {
    const request = this.requestSlots.take();
    if (request >= this.deadline.length) this.growRequests(request + 1);
    const { requests } = this;
    const row = request << ROW;
    requests[row + MODEL] = model;
    requests[row + FLAGS] = 0;
    requests[row + LEFT] = rows;
    requests[row + OUT] = 0;
    requests[row + FIRST] = NONE;
    requests[row + ROWS] = rows;
    this.deadline[request] = deadline;
    this.weight[request] = 1;
    for (let i = 0; i < rows; i++) {
      const task = this.newTask(request);
      if (i === 0) requests[row + LAST] = task;
      // The task added last is the first.
      this.tasks[(task << ROW) + SIBLING] = requests[row + FIRST] as number;
      requests[row + FIRST] = task;
    }
    return request;
  }

  /**
   * branch adds a task of the same row as another, which has come to two stages at once. It is the last of its
   * request.
   * @returns the number of the task
   */
  branch(from: number): number {
    const request = this.requestOf(from);
    const task = this.newTask(request);
    const { tasks, requests } = this;
    const row = request << ROW;
    tasks[(task << ROW) + FLOW] = tasks[(from << ROW) + FLOW] as number;
    tasks[(task << ROW) + ENTRY] = tasks[(from << ROW) + ENTRY] as number;
    tasks[((requests[row + LAST] as number) << ROW) + SIBLING] = task;
    requests[row + LAST] = task;
    requests[row + LEFT]! += 1;
    return task;
  }

  private newTask(request: number): number {
    const task = this.taskSlots.take();
    if (task >= this.queued.length) this.growTasks(task + 1);
    const { tasks } = this;
    const row = task << ROW;
    tasks[row + REQUEST] = request;
    tasks[row + STATE] = ENDED;
    tasks[row + POOL] = NONE;
    tasks[row + ENTRY] = NONE;
    tasks[row + TRIES] = 0;
    tasks[row + LIST] = List.waiting;
    tasks[row + SIBLING] = NONE;
    tasks[row + FLOW] = NONE;
    this.taskDeadline[task] = this.deadline[request] as number;
    return task;
  }

  private hasFlag(request: number, flag: number): boolean {
    return ((this.requests[(request << ROW) + FLAGS] as number) & flag) !== 0;
  }

  private setFlag(request: number, flag: number): void {
    this.requests[(request << ROW) + FLAGS]! |= flag;
  }

  setStrict(request: number): void {
    this.setFlag(request, Flag.strict);
  }

  setMissed(request: number): void {
    this.setFlag(request, Flag.missed);
  }

  /** setWeight says how much it counts that a request is in time; each counts 1 until then. */
  setWeight(request: number, weight: number): void {
    must(
      weight > 0 && weight < Number.POSITIVE_INFINITY,
      'the weight of a request is not above 0 and finite',
    );
    this.weight[request] = weight;
  }

  /** setEntry gives the task its pipeline. */
  setEntry(task: number, entry: number): void {
    this.tasks[(task << ROW) + ENTRY] = entry;
  }

  setFlow(task: number, flow: number): void {
    this.tasks[(task << ROW) + FLOW] = flow;
  }

  setPool(task: number, pool: number): void {
    this.tasks[(task << ROW) + POOL] = pool;
  }

  setQueuedAt(task: number, at: number): void {
    this.queued[task] = at;
  }

  setLate(task: number, late: boolean): void {
    this.tasks[(task << ROW) + LIST] = late ? List.background : List.waiting;
  }

  setCollected(task: number, collected: boolean): void {
    this.tasks[(task << ROW) + LIST] = collected ? List.collected : List.waiting;
  }

  /** enterQueue is a transition: the task waits in a queue. */
  enterQueue(task: number): void {
    this.tasks[(task << ROW) + STATE] = QUEUED;
  }

  /** enterBatch is a transition: the task goes into a batch. */
  enterBatch(task: number): void {
    this.tasks[(task << ROW) + STATE] = IN_BATCH;
    this.requests[(this.requestOf(task) << ROW) + OUT]! += 1;
  }

  /** leaveBatch is a transition: the task comes out of its batch. */
  leaveBatch(task: number): void {
    this.tasks[(task << ROW) + STATE] = ENDED;
    this.requests[(this.requestOf(task) << ROW) + OUT]! -= 1;
  }

  /** endWaiting is a transition: the task waits no more, because its request has ended. */
  endWaiting(task: number): void {
    this.tasks[(task << ROW) + STATE] = ENDED;
  }

  /**
   * endTask is a transition: one task of the request was served to its end.
   * @returns whether that was the last
   */
  endTask(request: number): boolean {
    const left = (this.requests[(request << ROW) + LEFT] as number) - 1;
    this.requests[(request << ROW) + LEFT] = left;
    return left === 0;
  }

  /** failTask is a transition: the execution of the task's batch failed. */
  failTask(task: number): void {
    this.tasks[(task << ROW) + TRIES]! += 1;
    this.setFlag(this.requestOf(task), Flag.failed);
  }

  /**
   * loseTask is a transition: the task's device went down.
   * @param tries how many lost executions this counts, 0 where the batch had not begun
   */
  loseTask(task: number, tries: number): void {
    this.tasks[(task << ROW) + TRIES]! += tries;
    if (tries > 0) this.setFlag(this.requestOf(task), Flag.lost);
  }

  /** settle is a transition: the outcome of the request is decided. */
  settle(request: number): void {
    this.setFlag(request, Flag.settled);
  }

  /**
   * retireIfDone gives back the slots of a settled request at the next `flush`, unless a task of it is in a
   * batch.
   */
  retireIfDone(request: number): void {
    if (this.requests[(request << ROW) + OUT] !== 0) return;
    must(this.isSettled(request), 'a request is retired before its end');
    this.retired.push(request);
  }

  /**
   * flush gives back the slots of retired requests. By now the driver has read, or is about to read, every
   * decision that names them.
   */
  flush(): void {
    for (let i = 0; i < this.retired.length; i++) {
      const request = this.retired.get(i);
      if (this.flows !== undefined) this.closeFlows(this.flows, request);
      for (let task = this.firstTask(request); task !== NONE; task = this.nextTask(task))
        this.taskSlots.giveBack(task);
      this.requestSlots.giveBack(request);
    }
    this.retired.clear();
  }

  private closeFlows(flows: Flows, request: number): void {
    let task = this.firstTask(request);
    for (let row = this.rowsOf(request); row > 0; row--, task = this.nextTask(task))
      if (this.flowOf(task) !== NONE) flows.close(this.flowOf(task));
  }

  private growRequests(length: number): void {
    const capacity = grownCapacity(this.deadline.length, length);
    this.requests = grownColumn(this.requests, capacity << ROW);
    this.deadline = grownColumn(this.deadline, capacity);
    this.weight = grownColumn(this.weight, capacity);
  }

  private growTasks(length: number): void {
    const capacity = grownCapacity(this.queued.length, length);
    this.tasks = grownColumn(this.tasks, capacity << ROW);
    this.taskDeadline = grownColumn(this.taskDeadline, capacity);
    this.queued = grownColumn(this.queued, capacity);
  }
}
