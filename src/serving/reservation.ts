import { Batches } from './batches.js';
import type { Booking } from './booking.js';
import { BusyUntilBooking } from './busy-until-booking.js';
import { must } from './columns.js';
import type { ServingCore } from './core.js';
import { Answer, Decision, type Decisions, DropCode } from './decisions.js';
import { Dispatcher } from './dispatcher.js';
import { Durations } from './durations.js';
import { type Flow, HandedOnFlow } from './flow.js';
import { GapBooking } from './gap-booking.js';
import { Lists, NONE } from './lists.js';
import { Journeys } from './path.js';
import { Requests, TaskState } from './requests.js';
import { RESERVATION_POLICY, type ReservationPolicy } from './reservation-policy.js';
import { ReservedFlow } from './reserved-flow.js';
import type { Topology } from './topology.js';

const NEVER = Number.POSITIVE_INFINITY;

/**
 * PPipe's reservation-based adaptive batching (§5.4, A.3): one queue per model; a batch is formed once, for all stages, when
 * devices and links for its whole way are found to be free in time, and these are kept for it.
 *
 * Cost: an arrival that changes nothing looks at one number; a dispatch takes two probes as a rule. Memory follows the number
 * in flight.
 */
export class ReservationCore implements ServingCore {
  private readonly policy: ReservationPolicy;
  private readonly requests = new Requests();
  private readonly batches: Batches;
  private readonly journeys: Journeys;
  private readonly durations: Durations;
  private readonly dispatcher: Dispatcher;
  private readonly booking: Booking;
  private readonly flow: Flow;
  /** Per model. */
  private readonly queues: Lists;
  private readonly touched: Uint8Array;
  private readonly wake: Float64Array;
  /** The oldest task when its model was last looked at. */
  private readonly seen: Int32Array;
  /** Per model: until `sureUntil` a batch of `sureSize` in the pipeline `sureEntry` is known to be in time. */
  private readonly sureUntil: Float64Array;
  private readonly sureSize: Int32Array;
  private readonly sureEntry: Int32Array;
  private wakeTold = NEVER;
  private draining = false;
  /** Whether a request ever ended while a task of it was in a batch. */
  private holes = false;
  /** Whether a batch was ever lost. */
  private retried = false;
  private unsettled = 0;
  /** Batches dispatched. */
  dispatches = 0;

  /**
   * @param decisions where decisions are appended; the driver's
   * @param policy what differs from RESERVATION_POLICY
   */
  constructor(
    private readonly topology: Topology,
    private readonly decisions: Decisions,
    policy: Partial<ReservationPolicy> = {},
  ) {
    this.policy = { ...RESERVATION_POLICY, ...policy };
    const { pools, models } = topology;
    this.batches = new Batches(Math.max(...pools.map((pool) => pool.batch)));
    this.durations = new Durations(pools, this.policy.correction);
    this.journeys = new Journeys(Math.max(...pools.map(({ partition }) => partition + 1)));
    const isWanted = (batch: number) => this.isWanted(batch);
    const { batches, journeys, durations } = this;
    if (this.policy.tables === 'gaps') {
      const booking = new GapBooking(topology, durations);
      this.booking = booking;
      this.flow = new ReservedFlow(topology, decisions, batches, journeys, durations, booking, isWanted);
    } else {
      this.booking = new BusyUntilBooking(topology, durations);
      this.flow = new HandedOnFlow(decisions, batches, journeys, topology.devices.length, isWanted);
    }
    this.dispatcher = new Dispatcher(topology, this.policy, this.durations, this.booking);
    this.queues = new Lists(models.length);
    this.touched = new Uint8Array(models.length);
    this.wake = new Float64Array(models.length).fill(NEVER);
    this.seen = new Int32Array(models.length).fill(NONE);
    this.sureUntil = new Float64Array(models.length).fill(-1);
    this.sureSize = new Int32Array(models.length);
    this.sureEntry = new Int32Array(models.length);
  }

  get pending(): number {
    return this.unsettled;
  }

  /** Requests, tasks and batches whose numbers are in use: what memory follows. */
  get inUse(): { requests: number; tasks: number; batches: number } {
    const { requestCount, taskCount } = this.requests;
    return { requests: requestCount, tasks: taskCount, batches: this.batches.count };
  }

  /** Calls of probe() so far. */
  get probes(): number {
    return this.dispatcher.probes;
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

  arrived(_at: number, model: number, deadlineNs: number, rows: number): number {
    must(rows >= 1 && this.topology.models[model] !== undefined, 'a request has no rows or no model');
    const full = this.requests.taskCount + rows > this.policy.mostTasks;
    const request = this.requests.add(model, deadlineNs, rows);
    this.unsettled += 1;
    if (this.draining) this.drop(request, DropCode.draining);
    else if (full) this.drop(request, DropCode.queueFull);
    else {
      for (let task = this.requests.first(request); task !== NONE; task = this.requests.nextOf(task))
        this.enqueue(task, model);
    }
    return request;
  }

  /** Reservations answer for a batch, not for a request that is not in yet. */
  wouldDrop(): boolean {
    return false;
  }

  turnedAway(at: number, model: number): number {
    const request = this.requests.add(model, at, 1);
    this.unsettled += 1;
    this.drop(request, DropCode.overload);
    return request;
  }

  cancelled(_at: number, request: number): boolean {
    if (this.requests.settled[request] === 1) return false;
    this.settle(request);
    return true;
  }

  started(at: number, batch: number): void {
    this.flow.started(at, batch);
  }

  executed(at: number, batch: number, startedAt: number, endedAt: number): void {
    const pool = this.batches.pool(batch);
    this.durations.observeExecution(pool, this.batches.size(batch), endedAt - startedAt);
    const last = this.topology.pools[pool]?.next === undefined;
    if (last) this.endTasks(at, batch);
    this.flow.executed(at, batch, last);
    if (last) this.batches.close(batch);
  }

  transferred(at: number, batch: number, startedAt: number, endedAt: number): void {
    const pool = this.batches.pool(batch);
    this.durations.observeTransfer(pool, this.batches.size(batch), endedAt - startedAt);
    // A stage that has lost its devices: the batch's tasks start again, the driver has their inputs.
    if (!this.flow.transferred(at, batch)) this.retry(batch, false);
  }

  failed(at: number, batch: number): void {
    this.flow.lost(at, batch);
    this.retry(batch, this.batches.size(batch) === 1);
  }

  due(_at: number): void {
    this.wakeTold = NEVER;
  }

  deviceUp(_at: number, device: number): void {
    this.booking.deviceUp(device);
    this.flow.deviceUp(device);
    this.touchAll();
  }

  deviceDown(at: number, device: number): void {
    this.booking.deviceDown(device);
    for (const batch of this.flow.deviceDown(at, device)) this.retry(batch, false);
    this.touchAll();
  }

  drain(_at: number): void {
    this.draining = true;
    this.touchAll();
  }

  decide(at: number): void {
    this.dispatcher.stale();
    let earliest = NEVER;
    for (let model = 0; model < this.wake.length; model++) {
      if (this.touched[model] === 1 || (this.wake[model] as number) <= at) {
        this.touched[model] = 0;
        this.wake[model] = this.serve(at, model);
      }
      earliest = Math.min(earliest, this.wake[model] as number);
    }
    this.flow.decide(at);
    if (earliest !== NEVER && earliest !== this.wakeTold) this.decisions.push(Decision.wakeAt, earliest);
    this.wakeTold = earliest;
    this.requests.flush();
  }

  /** Algorithm 1, over and over until the oldest request waits; @returns when to look again. */
  private serve(at: number, model: number): number {
    for (;;) {
      const head = this.queues.first(model);
      if (head === NONE) return NEVER;
      if (this.isSure(at, model, head)) return this.lastMoment(model, head, this.sureEntry[model] as number);
      const deadline = this.deadlineOf(head);
      const size = this.dispatcher.offer(
        at,
        model,
        deadline,
        this.seen[model] !== head,
        this.togetherWith(head),
      );
      this.sureUntil[model] = -1;
      if (size === 0) {
        this.giveUp(head);
        continue;
      }
      this.seen[model] = head;
      const { entry, path } = this.dispatcher;
      const waiting = this.queues.size(model);
      if (waiting < size && !this.draining) {
        const until = this.lastMoment(model, head, entry);
        if (until > at) {
          this.sureUntil[model] = at + deadline - path.finish;
          this.sureSize[model] = size;
          this.sureEntry[model] = entry;
          return until;
        }
      }
      this.dispatch(model, Math.min(size, waiting));
    }
  }

  /** How many from the head on may be in one batch: one that was in a failed batch is tried alone. */
  private togetherWith(head: number): number {
    if (!this.retried) return NEVER;
    if ((this.requests.tries[head] as number) > 0) return 1;
    let count = 1;
    for (let task = this.queues.next(head); task !== NONE; task = this.queues.next(task), count++) {
      if ((this.requests.tries[task] as number) > 0) return count;
    }
    return NEVER;
  }

  /** Nothing need be asked again: the batch that was found in time still is, and there are still too few for it. */
  private isSure(at: number, model: number, head: number): boolean {
    return (
      this.policy.review === 'when-due' &&
      at <= (this.sureUntil[model] as number) &&
      this.seen[model] === head &&
      this.queues.size(model) < (this.sureSize[model] as number) &&
      !this.draining &&
      at < this.lastMoment(model, head, this.sureEntry[model] as number)
    );
  }

  /** When a batch of one more than wait now could no longer be in time; while those that wait still can. */
  private lastMoment(model: number, head: number, entry: number): number {
    const waiting = this.queues.size(model);
    const more = Math.min(waiting + 1, this.dispatcher.planned[entry] as number);
    const deadline = this.deadlineOf(head);
    const last = deadline - this.durations.workNs(entry, Math.min(waiting, more));
    return Math.min(last, deadline - this.durations.workNs(entry, more) + this.policy.wakeStepNs);
  }

  private dispatch(model: number, size: number): void {
    const { entry, path } = this.dispatcher;
    const batch = this.batches.open(entry, path.device[0] as number);
    for (let i = 0; i < size; i++) {
      const task = this.queues.first(model);
      this.queues.remove(model, task);
      this.batches.add(batch, task);
      this.requests.state[task] = TaskState.inBatch;
      this.requests.out[this.requests.request[task] as number]! += 1;
    }
    this.seen[model] = NONE;
    this.booking.reserve(path, entry, size, 0, this.journeys.step(batch, 0));
    this.journeys.begin(batch, entry, path);
    this.flow.begin(batch);
    this.dispatcher.dispatched(model, entry, size);
    this.dispatches += 1;
  }

  private deadlineOf(task: number): number {
    return this.requests.deadline[this.requests.request[task] as number] as number;
  }

  private touchAll(): void {
    this.touched.fill(1);
    this.sureUntil.fill(-1);
    this.dispatcher.devicesChanged();
  }

  /** In the order of deadlines, equals as they came. */
  private enqueue(task: number, model: number): void {
    this.requests.state[task] = TaskState.queued;
    const deadline = this.deadlineOf(task);
    let before = this.queues.last(model);
    while (before !== NONE && this.deadlineOf(before) > deadline) before = this.queues.previous(before);
    this.queues.insertAfter(model, before, task);
    this.touched[model] = 1;
  }

  private giveUp(task: number): void {
    const request = this.requests.request[task] as number;
    if (this.requests.tried[request] === 1) this.answer(request, Answer.failed);
    else if (this.dispatcher.entry === NONE) this.drop(request, DropCode.deviceDown);
    else this.drop(request, DropCode.deadline);
  }

  private endTasks(at: number, batch: number): void {
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (!this.cameBack(task)) continue;
      const request = this.requests.request[task] as number;
      this.requests.left[request]! -= 1;
      if (this.requests.left[request] !== 0) continue;
      this.answer(request, at <= (this.requests.deadline[request] as number) ? Answer.inTime : Answer.late);
    }
  }

  private retry(batch: number, givenUp: boolean): void {
    this.retried = true;
    const { model } = this.topology.pools[this.batches.pool(batch)] as { model: number };
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (!this.cameBack(task)) continue;
      const request = this.requests.request[task] as number;
      const tries = (this.requests.tries[task] as number) + 1;
      this.requests.tries[task] = tries;
      this.requests.tried[request] = 1;
      if (givenUp || tries >= this.policy.mostTries) this.answer(request, Answer.failed);
      else this.enqueue(task, model);
    }
    this.batches.close(batch);
  }

  private isWanted(batch: number): boolean {
    if (!this.holes) return true;
    let kept = 0;
    for (let i = 0; i < this.batches.size(batch); i++) {
      const task = this.batches.task(batch, i);
      if (this.requests.settled[this.requests.request[task] as number] === 0)
        this.batches.set(batch, kept++, task);
      else this.cameBack(task);
    }
    this.batches.truncate(batch, kept);
    return kept > 0;
  }

  /** A task leaves its batch; @returns whether its request still wants it. */
  private cameBack(task: number): boolean {
    const request = this.requests.request[task] as number;
    this.requests.state[task] = TaskState.ended;
    this.requests.out[request]! -= 1;
    if (this.requests.settled[request] === 0) return true;
    if (this.requests.out[request] === 0) this.requests.retire(request);
    return false;
  }

  private answer(request: number, how: number): void {
    this.decisions.push(Decision.answer, request, how);
    this.settle(request);
  }

  private drop(request: number, reason: number): void {
    this.decisions.push(Decision.drop, request, reason, NONE);
    this.settle(request);
  }

  /** The outcome is decided: its waiting tasks leave the queue, those in batches will be ignored. */
  private settle(request: number): void {
    this.requests.settled[request] = 1;
    this.unsettled -= 1;
    if ((this.requests.out[request] as number) > 0) this.holes = true;
    for (let task = this.requests.first(request); task !== NONE; task = this.requests.nextOf(task)) {
      if (this.requests.state[task] !== TaskState.queued) continue;
      const model = this.requests.model[request] as number;
      this.queues.remove(model, task);
      if (this.seen[model] === task) this.seen[model] = NONE;
      this.requests.state[task] = TaskState.ended;
    }
    if (this.requests.out[request] === 0) this.requests.retire(request);
  }
}
