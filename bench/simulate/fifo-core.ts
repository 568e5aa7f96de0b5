import {
  Answer,
  Decision,
  type Decisions,
  type ServingCore,
  type Topology,
} from '../../src/serving/index.js';

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
 * FifoCore does the least that a core can do. It has one pipeline of stages with a first-in-first-out queue before
 * each. A free device takes the waiting requests, up to the stage's batch. It drops none, and sends nothing over links.
 * So it shows best the cost of the driver itself.
 */
export class FifoCore implements ServingCore {
  private readonly queues: Queue[];
  private readonly idle: Queue[];
  private readonly batchOf: readonly number[];
  private readonly mostTasks: number;
  private readonly freeRequests = new Queue();
  private readonly endedRequests = new Queue();
  private readonly freeBatches = new Queue();
  /** The pools to look at when deciding. */
  private readonly changed: Uint8Array;
  private requestEnd = 0;
  private batchEnd = 0;
  private deadline = new Float64Array(64);
  private readonly poolOf: Int32Array;
  private readonly deviceOf: Int32Array;
  private readonly sizes: Int32Array;
  private readonly tasks: Int32Array;
  pending = 0;

  constructor(
    private readonly topology: Topology,
    private readonly decisions: Decisions,
  ) {
    this.queues = topology.pools.map(() => new Queue());
    this.idle = topology.pools.map(() => new Queue());
    this.changed = new Uint8Array(topology.pools.length);
    this.batchOf = topology.pools.map((pool) => pool.batch);
    this.mostTasks = Math.max(...this.batchOf);
    const batches = topology.devices.length;
    this.poolOf = new Int32Array(batches);
    this.deviceOf = new Int32Array(batches);
    this.sizes = new Int32Array(batches);
    this.tasks = new Int32Array(batches * this.mostTasks);
  }

  arrived(_at: number, _model: number, deadlineNs: number): number {
    const request = this.freeRequests.size > 0 ? this.freeRequests.shift() : this.requestEnd++;
    if (request === this.deadline.length) {
      const longer = new Float64Array(2 * request);
      longer.set(this.deadline);
      this.deadline = longer;
    }
    this.deadline[request] = deadlineNs;
    this.pending += 1;
    (this.queues[0] as Queue).push(request);
    this.changed[0] = 1;
    return request;
  }

  executed(at: number, batch: number): void {
    const pool = this.poolOf[batch] as number;
    const next = pool + 1;
    const size = this.sizes[batch] as number;
    this.idle[pool]?.push(this.deviceOf[batch] as number);
    this.freeBatches.push(batch);
    const from = batch * this.mostTasks;
    this.changed[pool] = 1;
    if (next < this.queues.length) {
      (this.queues[next] as Queue).pushAll(this.tasks, from, size);
      this.changed[next] = 1;
      return;
    }
    for (let i = 0; i < size; i++) this.answer(at, this.tasks[from + i] as number);
    this.endedRequests.pushAll(this.tasks, from, size);
    this.pending -= size;
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
    const size = Math.min(queue.size, this.batchOf[pool] as number);
    queue.shiftInto(this.tasks, batch * this.mostTasks, size);
    this.sizes[batch] = size;
    this.poolOf[batch] = pool;
    this.deviceOf[batch] = device;
    this.decisions.push(Decision.execute, batch, device);
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
  transferred(): void {
    throw new Error('FifoCore does not support transfers');
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
