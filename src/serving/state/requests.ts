import { grownCapacity, grownColumn, NONE, Slots } from '../../collections/index.js';
import { must } from '../broken-promise.js';

/** Where a task is. */
export const TaskState = { queued: 0, inBatch: 1, ended: 2 } as const;

/** Requests in flight and their tasks, as columns; slots are used again, so memory follows the number in flight. */
export class Requests {
  private readonly requestSlots = new Slots();
  private readonly taskSlots = new Slots();

  model = new Int32Array(0);
  deadline = new Float64Array(0);
  /** Its outcome is decided (or its client is gone). */
  settled = new Uint8Array(0);
  /** Its deadline is its own, sooner than its model's SLO: an answer after it is not wanted. */
  strict = new Uint8Array(0);
  /** It cannot be in time. */
  missed = new Uint8Array(0);
  /** It was on a device when that failed. */
  tried = new Uint8Array(0);
  /** Tasks that have not ended: the join. */
  left = new Int32Array(0);
  /** Tasks in batches. */
  out = new Int32Array(0);
  private firstTask = new Int32Array(0);

  request = new Int32Array(0);
  state = new Uint8Array(0);
  pool = new Int32Array(0);
  /** First pool of its pipeline. */
  entry = new Int32Array(0);
  queuedAt = new Float64Array(0);
  tries = new Uint8Array(0);
  /** It stands in its pool's background queue. */
  late = new Uint8Array(0);
  private sibling = new Int32Array(0);

  private ended = new Int32Array(16);
  private endedCount = 0;

  /** Tasks whose slots are in use. */
  get taskCount(): number {
    return this.taskSlots.used;
  }

  get requestCount(): number {
    return this.requestSlots.used;
  }

  add(model: number, deadline: number, rows: number): number {
    const request = this.requestSlots.take();
    if (request >= this.model.length) this.growRequests(request + 1);
    this.model[request] = model;
    this.deadline[request] = deadline;
    this.settled[request] = 0;
    this.strict[request] = 0;
    this.missed[request] = 0;
    this.tried[request] = 0;
    this.left[request] = rows;
    this.out[request] = 0;
    this.firstTask[request] = NONE;
    for (let row = 0; row < rows; row++) this.addTask(request);
    return request;
  }

  /** Tasks are linked from the last row to the first. */
  private addTask(request: number): void {
    const task = this.taskSlots.take();
    if (task >= this.request.length) this.growTasks(task + 1);
    this.request[task] = request;
    this.state[task] = TaskState.ended;
    this.pool[task] = NONE;
    this.entry[task] = NONE;
    this.tries[task] = 0;
    this.late[task] = 0;
    this.sibling[task] = this.firstTask[request] as number;
    this.firstTask[request] = task;
  }

  first(request: number): number {
    return this.firstTask[request] as number;
  }

  nextOf(task: number): number {
    return this.sibling[task] as number;
  }

  /** The request has its outcome and nothing out: its slots may be used again after the next `flush`. */
  retire(request: number): void {
    must(this.settled[request] === 1 && this.out[request] === 0, 'a request is retired before its end');
    if (this.endedCount === this.ended.length) this.ended = grownColumn(this.ended, 2 * this.endedCount);
    this.ended[this.endedCount++] = request;
  }

  /** Gives back the slots of retired requests: the driver has read, or is about to read, all that names them. */
  flush(): void {
    for (let i = 0; i < this.endedCount; i++) {
      const request = this.ended[i] as number;
      for (let task = this.first(request); task !== NONE; task = this.nextOf(task))
        this.taskSlots.giveBack(task);
      this.requestSlots.giveBack(request);
    }
    this.endedCount = 0;
  }

  private growRequests(needed: number): void {
    const capacity = grownCapacity(this.model.length, needed);
    this.model = grownColumn(this.model, capacity);
    this.deadline = grownColumn(this.deadline, capacity);
    this.settled = grownColumn(this.settled, capacity);
    this.strict = grownColumn(this.strict, capacity);
    this.missed = grownColumn(this.missed, capacity);
    this.tried = grownColumn(this.tried, capacity);
    this.left = grownColumn(this.left, capacity);
    this.out = grownColumn(this.out, capacity);
    this.firstTask = grownColumn(this.firstTask, capacity);
  }

  private growTasks(needed: number): void {
    const capacity = grownCapacity(this.request.length, needed);
    this.request = grownColumn(this.request, capacity);
    this.state = grownColumn(this.state, capacity);
    this.pool = grownColumn(this.pool, capacity);
    this.entry = grownColumn(this.entry, capacity);
    this.queuedAt = grownColumn(this.queuedAt, capacity);
    this.tries = grownColumn(this.tries, capacity);
    this.late = grownColumn(this.late, capacity);
    this.sibling = grownColumn(this.sibling, capacity);
  }
}
