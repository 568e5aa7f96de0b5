import { BatchingCore } from './batching-core.js';
import { grownCapacity, grownColumn, must } from './columns.js';
import type { ServingCore } from './core.js';
import { Decision, type Decisions } from './decisions.js';
import { Durations } from './durations.js';
import { Lists, NONE } from './lists.js';
import { REACTIVE_POLICY, type ReactivePolicy } from './reactive-policy.js';
import { ReactiveRules } from './reactive-rules.js';
import { ReactiveWorkers } from './reactive-workers.js';
import { TaskState } from './requests.js';
import type { Pool, Topology } from './topology.js';

const NEVER = Number.POSITIVE_INFINITY;

/**
 * The reactive scheduler PPipe is compared with (§7.4): every stage batches for itself, and nobody knows of the links. A queue per
 * model before all its first stages together, one before every later stage; a batch is as large as is in time if the later
 * stages take what was planned; it is handed to the device that is free first, which may still be busy.
 *
 * Cost: an arrival looks at one device and at most a batch's sizes; a dispatch is logarithmic in the devices. Memory follows the
 * number in flight.
 */
export class ReactiveCore extends BatchingCore implements ServingCore {
  private readonly policy: ReactivePolicy;
  private readonly pools: readonly Pool[];
  private readonly durations: Durations;
  private readonly workers: ReactiveWorkers;
  private readonly rules: ReactiveRules;
  /** One per model, then one per pool (those of first pools stay empty), as deadlines run out. */
  private readonly queues: Lists;
  private readonly touched: Uint8Array;
  private readonly wake: Float64Array;
  /** When each pool was last handed a batch. */
  private readonly lastUse: Float64Array;
  /** The task each queue waited on last. */
  private readonly waitedOn: Int32Array;
  /** Whether a task has been waited on where it stands. */
  private waited = new Uint8Array(0);
  /** Batches that ended a step at this instant and go on by their place. */
  private readonly delivered: number[] = [];
  private readonly ended: number[] = [];

  /**
   * @param decisions where decisions are appended; the driver's
   * @param policy what differs from REACTIVE_POLICY
   */
  constructor(topology: Topology, decisions: Decisions, policy: Partial<ReactivePolicy> = {}) {
    const chosen = { ...REACTIVE_POLICY, ...policy };
    super(topology, decisions, chosen);
    this.policy = chosen;
    this.pools = topology.pools;
    this.durations = new Durations(topology, this.policy.correction);
    this.workers = new ReactiveWorkers(topology, this.batches, this.durations);
    this.rules = new ReactiveRules(this.policy, this.pools, this.durations);
    const queues = topology.models.length + this.pools.length;
    this.queues = new Lists(queues);
    this.touched = new Uint8Array(queues);
    this.lastUse = new Float64Array(this.pools.length);
    this.wake = new Float64Array(queues).fill(NEVER);
    this.waitedOn = new Int32Array(queues).fill(NONE);
  }

  protected admit(_at: number, request: number): void {
    for (let task = this.requests.first(request); task !== NONE; task = this.requests.nextOf(task))
      this.enqueue(task, NONE);
  }

  /** Stages answer for their own queue only. */
  wouldDrop(): boolean {
    return false;
  }

  override cancelled(at: number, request: number): boolean {
    for (let task = this.requests.first(request); task !== NONE; task = this.requests.nextOf(task)) {
      if (this.requests.state[task] === TaskState.queued) this.touched[this.queueOf(task)] = 1;
    }
    return super.cancelled(at, request);
  }

  started(at: number, batch: number): void {
    this.workers.started(batch);
    this.correct(batch, at);
  }

  executed(at: number, batch: number, startedAt: number, endedAt: number): void {
    const pool = this.batches.pool(batch);
    this.durations.observeExecution(pool, this.batches.size(batch), endedAt - startedAt);
    this.workers.ended(batch);
    this.correct(batch, endedAt);
    if (this.pools[pool]?.next === undefined) {
      this.endTasks(at, batch);
      this.batches.close(batch);
    } else if (this.policy.instant === 'told') this.sendOn(batch);
    else this.ended.push(batch);
  }

  transferred(_at: number, batch: number, startedAt: number, endedAt: number): void {
    must(this.batches.isMoving(batch), 'a batch was transferred that was not moving');
    const pool = this.batches.pool(batch);
    this.durations.observeTransfer(pool, this.batches.size(batch), endedAt - startedAt);
    if (this.policy.instant === 'told') this.deliver(batch);
    else this.delivered.push(batch);
  }

  /** The batch's tasks enter the next queue. */
  private deliver(batch: number): void {
    const pool = this.batches.pool(batch);
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (this.cameBack(task)) this.enqueue(task, this.pools[pool]?.next as number);
    }
    this.batches.close(batch);
  }

  failed(at: number, batch: number): void {
    this.workers.ended(batch);
    this.correct(batch, at);
    this.retry(at, batch, 1, this.batches.size(batch) === 1);
  }

  deviceUp(at: number, device: number): void {
    this.workers.deviceUp(at, device);
    this.touched.fill(1);
  }

  deviceDown(at: number, device: number): void {
    const running = this.workers.running(device);
    const pool = this.topology.devices[device]?.pool as number;
    for (const batch of this.workers.deviceDown(device))
      this.retry(at, batch, batch === running ? 1 : 0, false);
    if (!this.workers.hasDevice(pool)) this.beginAgain(this.topology.models.length + pool);
    this.touched.fill(1);
  }

  drain(_at: number): void {
    this.draining = true;
    this.touched.fill(1);
  }

  decide(at: number): void {
    if (this.delivered.length > 0) this.deliverByPlace(at);
    if (this.ended.length > 0) this.sendByPlace();
    let earliest = NEVER;
    for (let queue = 0; queue < this.wake.length; queue++) {
      if (this.touched[queue] === 1 || (this.wake[queue] as number) <= at) {
        this.touched[queue] = 0;
        this.wake[queue] = this.serve(at, queue);
      }
      earliest = Math.min(earliest, this.wake[queue] as number);
    }
    this.decided(earliest);
  }

  private deliverByPlace(at: number): void {
    const { uplinkOf } = this.topology.links;
    const placeOf = (batch: number) => uplinkOf[this.batches.device(batch)] as number;
    this.delivered.sort((a, b) => placeOf(a) - placeOf(b));
    for (const batch of this.delivered) {
      const queue = this.topology.models.length + (this.pools[this.batches.pool(batch)]?.next as number);
      this.deliver(batch);
      if (this.touched[queue] === 0) continue;
      this.touched[queue] = 0;
      this.wake[queue] = this.serve(at, queue);
    }
    this.delivered.length = 0;
  }

  private sendByPlace(): void {
    this.ended.sort((a, b) => this.batches.device(a) - this.batches.device(b));
    for (const batch of this.ended) this.sendOn(batch);
    this.ended.length = 0;
  }

  /** Drops, dispatches or waits until nothing more is to be done now; @returns when to look again. */
  private serve(at: number, queue: number): number {
    for (;;) {
      const head = this.queues.first(queue);
      if (head === NONE) return NEVER;
      const device = this.workers.first(queue);
      const size = device === NONE ? 0 : this.offer(at, queue, head, device);
      if (size === 0) {
        const models = this.topology.models.length;
        if (device !== NONE) this.relaxIfUnused(at, device, head);
        this.giveUp(head, queue < models ? NONE : queue - models, device !== NONE);
        continue;
      }
      const waiting = this.queues.size(queue);
      if (waiting < size && !this.draining) {
        const pool = this.topology.devices[device]?.pool as number;
        const until = this.rules.lastMoment(pool, waiting + 1, this.deadlineOf(head));
        if (until > at) {
          this.waitedOn[queue] = head;
          this.waited[head] = 1;
          return until;
        }
      }
      this.dispatch(at, queue, device, Math.min(size, waiting));
    }
  }

  /** The batch for the head on the device; 0 where the head is to be dropped. */
  private offer(at: number, queue: number, head: number, device: number): number {
    const pool = this.topology.devices[device]?.pool as number;
    const deadline = this.deadlineOf(head);
    const start = Math.max(at, this.workers.freeAt(device));
    const alone = (this.requests.tries[head] as number) > 0;
    const size = this.rules.largest(pool, start, deadline, alone ? 1 : NEVER);
    if (alone || this.isSpared(queue, head)) return size;
    return size < this.rules.leastAtFirstSight(pool, at, deadline) ? 0 : size;
  }

  /** A pool that its own bad record has kept from work for as long as an SLO is given another chance. */
  private relaxIfUnused(at: number, device: number, head: number): void {
    const pool = this.topology.devices[device]?.pool as number;
    const { model } = this.pools[pool] as Pool;
    if (at - (this.lastUse[pool] as number) < (this.topology.models[model]?.sloNs as number)) return;
    const deadline = this.deadlineOf(head);
    const isForbidden = this.rules.largest(pool, at, deadline, 1) === 0;
    if (isForbidden && at + this.durations.plannedWorkNs(pool, 1) <= deadline) this.durations.relax(pool);
  }

  private isSpared(queue: number, head: number): boolean {
    return this.policy.spares === 'last-waited' ? this.waitedOn[queue] === head : this.waited[head] === 1;
  }

  private dispatch(at: number, queue: number, device: number, size: number): void {
    const pool = this.topology.devices[device]?.pool as number;
    this.lastUse[pool] = at;
    const batch = this.batches.open(pool, device);
    for (let i = 0; i < size; i++) {
      const task = this.queues.first(queue);
      this.queues.remove(queue, task);
      this.putInBatch(batch, task);
    }
    this.workers.hand(at, batch);
    this.decisions.push(Decision.execute, batch, device);
  }

  /** Into the queue of a pool, or of the model's first stages: NONE. A stage without devices leaves nothing but to begin again. */
  private enqueue(task: number, pool: number): void {
    const model = this.requests.model[this.requests.request[task] as number] as number;
    const stands = pool !== NONE && this.workers.hasDevice(pool) ? pool : NONE;
    const queue = stands === NONE ? model : this.topology.models.length + stands;
    const deadline = this.deadlineOf(task);
    let before = this.queues.last(queue);
    while (before !== NONE && this.deadlineOf(before) > deadline) before = this.queues.previous(before);
    this.queues.insertAfter(queue, before, task);
    if (task >= this.waited.length)
      this.waited = grownColumn(this.waited, grownCapacity(this.waited.length, task + 1));
    this.waited[task] = 0;
    // The number was another's before.
    if (this.waitedOn[queue] === task) this.waitedOn[queue] = NONE;
    this.requests.pool[task] = stands;
    this.requests.state[task] = TaskState.queued;
    this.touched[queue] = 1;
  }

  private beginAgain(queue: number): void {
    for (let task = this.queues.first(queue); task !== NONE; task = this.queues.first(queue)) {
      this.queues.remove(queue, task);
      this.enqueue(task, NONE);
    }
  }

  private queueOf(task: number): number {
    const pool = this.requests.pool[task] as number;
    if (pool !== NONE) return this.topology.models.length + pool;
    return this.requests.model[this.requests.request[task] as number] as number;
  }

  /** What really happened says when the device is free (feedback correction). */
  private correct(batch: number, at: number): void {
    if (this.policy.correction.kind === 'none') return;
    if (!this.workers.correct(this.batches.device(batch), at)) return;
    const pool = this.batches.pool(batch);
    const first = this.pools[pool]?.partition === 0;
    this.touched[first ? (this.pools[pool]?.model as number) : this.topology.models.length + pool] = 1;
  }

  protected leaveQueue(task: number): void {
    this.queues.remove(this.queueOf(task), task);
  }

  /** It stands where its batch was lost. */
  protected requeue(_at: number, task: number): void {
    const pool = this.requests.pool[task] as number;
    this.enqueue(task, pool);
  }
}
