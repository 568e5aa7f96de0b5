import { grownColumn } from '../../src/collections/index.js';
import {
  Answer,
  Decision,
  type Decisions,
  type ServingCore,
  type Topology,
} from '../../src/serving/index.js';

const NONE = -1;

/** Queue keeps requests in a ring that grows. */
class Queue {
  private items = new Int32Array(64);
  private head = 0;
  size = 0;

  push(item: number): void {
    if (this.size === this.items.length) this.grow();
    this.items[(this.head + this.size) & (this.items.length - 1)] = item;
    this.size += 1;
  }

  shift(): number {
    const item = this.items[this.head] as number;
    this.head = (this.head + 1) & (this.items.length - 1);
    this.size -= 1;
    return item;
  }

  pushAll(items: Int32Array, from: number, count: number): void {
    while (this.size + count > this.items.length) this.grow();
    const ring = this.items;
    const mask = ring.length - 1;
    const tail = this.head + this.size;
    for (let i = 0; i < count; i++) ring[(tail + i) & mask] = items[from + i] as number;
    this.size += count;
  }

  shiftInto(items: Int32Array, from: number, count: number): void {
    const ring = this.items;
    const mask = ring.length - 1;
    const { head } = this;
    for (let i = 0; i < count; i++) items[from + i] = ring[(head + i) & mask] as number;
    this.head = (head + count) & mask;
    this.size -= count;
  }

  private grow(): void {
    const longer = new Int32Array(2 * this.items.length);
    for (let i = 0; i < this.size; i++)
      longer[i] = this.items[(this.head + i) & (this.items.length - 1)] as number;
    this.items = longer;
    this.head = 0;
  }
}

/**
 * FifoCore does the least that a core can do, so it shows best the cost of the driver itself. Before each stage of each
 * pipeline is a first-in-first-out queue, from which a free device takes what waits, up to the stage's batch. A batch
 * whose transfer takes no time goes on at once. Requests go to the pipelines of their model in turn, by planned rate.
 * None is dropped.
 */
export class FifoCore implements ServingCore {
  private readonly queues: Queue[];
  private readonly idle: Queue[];
  private readonly batchOf: readonly number[];
  /** The next pool of each, NONE after the last, and whether sending a full batch there takes time. */
  private readonly nextOf: Int32Array;
  private readonly sends: Uint8Array;
  private readonly entriesOf: readonly (readonly number[])[];
  /** How many requests each pipeline is behind its share, by its entry. */
  private readonly behind: Float64Array;
  private readonly shareOf: Float64Array;
  private readonly mostTasks: number;
  private readonly freeRequests = new Queue();
  private readonly endedRequests = new Queue();
  private readonly freeBatches = new Queue();
  /** The pools to look at when deciding. */
  private readonly changed: Uint8Array;
  private requestEnd = 0;
  private batchEnd = 0;
  private deadline = new Float64Array(64);
  private poolOf = new Int32Array(64);
  private deviceOf = new Int32Array(64);
  private sizes = new Int32Array(64);
  private tasks: Int32Array;
  pending = 0;

  constructor(
    private readonly topology: Topology,
    private readonly decisions: Decisions,
  ) {
    const { models, pools } = topology;
    this.queues = pools.map(() => new Queue());
    this.idle = pools.map(() => new Queue());
    this.changed = new Uint8Array(pools.length);
    this.batchOf = pools.map((pool) => pool.batch);
    this.mostTasks = Math.max(...this.batchOf);
    this.tasks = new Int32Array(64 * this.mostTasks);
    this.nextOf = Int32Array.from(pools, ({ edges }) => edges[0]?.to ?? NONE);
    this.sends = Uint8Array.from(pools, ({ transferNs }) => ((transferNs.at(-1) as number) > 0 ? 1 : 0));
    this.entriesOf = models.map(({ entries }) => entries);
    this.behind = new Float64Array(pools.length);
    this.shareOf = Float64Array.from(
      pools,
      ({ model, throughputRps }) => throughputRps / (models[model]?.throughputRps as number),
    );
  }

  arrived(_at: number, model: number, deadlineNs: number): number {
    const request = this.freeRequests.size > 0 ? this.freeRequests.shift() : this.requestEnd++;
    if (request === this.deadline.length) this.deadline = grownColumn(this.deadline, 2 * request);
    this.deadline[request] = deadlineNs;
    this.pending += 1;
    const entry = this.nextEntry(model);
    (this.queues[entry] as Queue).push(request);
    this.changed[entry] = 1;
    return request;
  }

  /** nextEntry takes the pipeline that is furthest behind its planned share. */
  private nextEntry(model: number): number {
    const entries = this.entriesOf[model] as readonly number[];
    let next = entries[0] as number;
    if (entries.length === 1) return next;
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i] as number;
      this.behind[entry]! += this.shareOf[entry] as number;
      if ((this.behind[entry] as number) > (this.behind[next] as number)) next = entry;
    }
    this.behind[next]! -= 1;
    return next;
  }

  executed(at: number, batch: number): void {
    const pool = this.poolOf[batch] as number;
    (this.idle[pool] as Queue).push(this.deviceOf[batch] as number);
    this.changed[pool] = 1;
    if (this.nextOf[pool] === NONE) this.end(at, batch);
    else if (this.sends[pool] === 1)
      this.decisions.push(Decision.transfer, batch, this.deviceOf[batch] as number, NONE);
    else this.transferred(at, batch);
  }

  transferred(_at: number, batch: number): void {
    const next = this.nextOf[this.poolOf[batch] as number] as number;
    const from = batch * this.mostTasks;
    (this.queues[next] as Queue).pushAll(this.tasks, from, this.sizes[batch] as number);
    this.changed[next] = 1;
    this.freeBatches.push(batch);
  }

  private end(at: number, batch: number): void {
    const size = this.sizes[batch] as number;
    const from = batch * this.mostTasks;
    for (let i = 0; i < size; i++) this.answer(at, this.tasks[from + i] as number);
    this.endedRequests.pushAll(this.tasks, from, size);
    this.pending -= size;
    this.freeBatches.push(batch);
  }

  decide(): void {
    while (this.endedRequests.size > 0) this.freeRequests.push(this.endedRequests.shift());
    for (let pool = 0; pool < this.changed.length; pool++) {
      if (this.changed[pool] === 0) continue;
      this.changed[pool] = 0;
      const queue = this.queues[pool] as Queue;
      const idle = this.idle[pool] as Queue;
      while (queue.size > 0 && idle.size > 0) this.start(pool, queue, idle.shift());
    }
  }

  private start(pool: number, queue: Queue, device: number): void {
    const batch = this.freeBatches.size > 0 ? this.freeBatches.shift() : this.batchEnd++;
    if (batch === this.sizes.length) this.growBatches();
    const size = Math.min(queue.size, this.batchOf[pool] as number);
    queue.shiftInto(this.tasks, batch * this.mostTasks, size);
    this.sizes[batch] = size;
    this.poolOf[batch] = pool;
    this.deviceOf[batch] = device;
    this.decisions.push(Decision.execute, batch, device);
  }

  private growBatches(): void {
    const capacity = 2 * this.sizes.length;
    this.sizes = grownColumn(this.sizes, capacity);
    this.poolOf = grownColumn(this.poolOf, capacity);
    this.deviceOf = grownColumn(this.deviceOf, capacity);
    this.tasks = grownColumn(this.tasks, capacity * this.mostTasks);
  }

  private answer(at: number, request: number): void {
    const inTime = at <= (this.deadline[request] as number);
    this.decisions.push(Decision.answer, request, inTime ? Answer.inTime : Answer.late);
  }

  deviceUp(_at: number, device: number): void {
    this.idle[this.topology.devices[device]?.pool as number]?.push(device);
  }

  started(): void {}
  due(): void {}
  drain(): void {}
  wouldDrop(): boolean {
    return false;
  }
  turnedAway(): number {
    throw new Error('FifoCore does not turn requests away');
  }
  cancelled(): boolean {
    throw new Error('FifoCore does not support cancelling');
  }
  failed(): void {
    throw new Error('FifoCore does not support failing batches');
  }
  deviceDown(): void {
    throw new Error('FifoCore does not support outages');
  }

  taskOf(request: number): number {
    return request;
  }
  batchSize(batch: number): number {
    return this.sizes[batch] as number;
  }
  batchTask(batch: number, i: number): number {
    return this.tasks[batch * this.mostTasks + i] as number;
  }
  batchPool(batch: number): number {
    return this.poolOf[batch] as number;
  }
  batchEdge(): number {
    return 0;
  }

  requestOf(task: number): number {
    return task;
  }

  rowOf(): number {
    return 0;
  }

  batchDevice(batch: number): number {
    return this.deviceOf[batch] as number;
  }
}
