import { NONE as SHARED_NONE } from '../../collections/index.js';
import { InputError } from '../../formats/index.js';
import { must } from '../broken-promise.js';
import type { ServingCore } from '../core.js';
import type { Decisions } from '../decisions.js';
import {
  Durations,
  type OpenBatches,
  PoolsUp,
  RequestLife,
  type Requests,
  TaskQueues,
} from '../state/index.js';
import {
  beyondChains,
  mostStages,
  type ServedModel,
  sharingFirst,
  slosSharing,
  stagesFrom,
  type Topology,
} from '../topology.js';
import type { Booking } from './booking.js';
import { Dispatcher } from './dispatcher.js';
import type { Forwarding } from './forwarding.js';
import { Journeys, Leg as SharedLeg } from './path.js';
import { EVERY_ARRIVAL, RESERVATION_POLICY, type ReservationPolicy } from './policy.js';
import { gapTables, type ReservationTables } from './tables.js';

const NONE = SHARED_NONE;
const Leg = SharedLeg;

const NEVER = Number.POSITIVE_INFINITY;
const NOT_DOWN = Number.NEGATIVE_INFINITY;

/** ReservationOptions holds the choices that differ from RESERVATION_POLICY. */
export interface ReservationOptions extends Partial<ReservationPolicy> {
  /** `makeTables` makes the tables that `tables` names; it may be absent only for `gaps` (gapTables). */
  readonly makeTables?: ReservationTables;
}

/**
 * ReservationCore is PPipe's reservation-based adaptive batching (§5.4, A.3), with one queue per model. A
 * batch is formed once, for all stages, when devices and links are found to be free in time over its whole
 * path. These are then reserved for it.
 *
 * An arrival that changes nothing costs one comparison, and a dispatch takes two probes as a rule. `decide` looks
 * at one number per model. Memory follows the number of requests in flight.
 */
export class ReservationCore implements ServingCore {
  private readonly life: RequestLife;
  private readonly requests: Requests;
  private readonly batches: OpenBatches;
  private readonly policy: ReservationPolicy;
  private readonly journeys: Journeys;
  private readonly durations: Durations;
  /** `stages` is the number of stages of the pipeline from each pool on. */
  private readonly stages: Int32Array;
  private readonly dispatcher: Dispatcher;
  private readonly booking: Booking;
  private readonly forwarding: Forwarding;
  /** `sharing` is the model in whose queue the requests of each model wait: the first of those that share its pools. */
  private readonly sharing: Int32Array;
  private readonly leastSlosNs: Float64Array;
  /** `queues` holds one queue per model, in the order of deadlines. */
  private readonly queues: TaskQueues;
  /** `touched` is 1 for each model whose queue is to be looked at again in this `decide`. */
  private readonly touched: Uint8Array;
  /** `lastUse` is when a batch of each model was last dispatched. */
  private readonly lastUse: Float64Array;
  /** `wake` is when the queue of each model is looked at, even if nothing happens before. */
  private readonly wake: Float64Array;
  /** `seen` is the oldest task of each model when its queue was last looked at. */
  private readonly seen: Int32Array;
  /**
   * `quietUntil` is the time until which arrivals behind the oldest task of a model change nothing, while
   * fewer than `quietSize` tasks wait.
   */
  private readonly quietUntil: Float64Array;
  private readonly quietSize: Int32Array;
  private readonly poolsUp: PoolsUp;
  /** `holes` says whether a request ever ended while a task of it was in a batch. */
  private holes = false;
  /** `retried` says whether the execution of a batch ever failed or was lost, so that tasks are tried alone. */
  private retried = false;
  /** `dispatches` is the number of batches dispatched so far. */
  dispatches = 0;

  /**
   * @param decisions the driver's buffer, where decisions are appended
   * @throws InputError where the topology is more than chains of pools whose devices are their own
   * @throws the error of `brokenPromise` where the tables are not those that the policy names
   */
  constructor(
    private readonly topology: Topology,
    decisions: Decisions,
    { makeTables = gapTables, ...policy }: ReservationOptions = {},
  ) {
    const beyond = beyondChains(topology);
    if (beyond.length > 0)
      throw new InputError(
        'serve the plan by reservation',
        beyond,
        'Take another scheduler, such as room-first.',
      );
    const chosen = { ...RESERVATION_POLICY, ...policy };
    const life = new RequestLife(
      { topology, decisions, limits: chosen },
      {
        leaveQueue: (task) => this.leaveQueue(task),
        requeue: (at, task) => this.requeue(at, task),
        ended: (task) => {
          if (this.requests.isInBatch(task)) this.holes = true;
        },
        judged: () => {},
      },
    );
    this.life = life;
    this.requests = life.requests;
    this.batches = life.batches;
    must(
      (chosen.tables === 'gaps') === (makeTables === gapTables),
      'a reservation scheduler has other tables than its policy says',
    );
    this.policy = chosen;
    const { pools, models } = topology;
    this.sharing = sharingFirst(topology);
    this.leastSlosNs = slosSharing(topology).leastNs;
    this.stages = stagesFrom(topology);
    this.durations = new Durations(topology, this.policy.correction);
    this.journeys = new Journeys(mostStages(pools));
    const isWanted = (batch: number) => this.isWanted(batch);
    const { batches, journeys, durations } = this;
    const made = makeTables({ topology, decisions, batches, journeys, durations, isWanted });
    this.booking = made.booking;
    this.forwarding = made.forwarding;
    this.dispatcher = new Dispatcher({ topology, durations }, chosen, this.booking);
    this.poolsUp = new PoolsUp(topology);
    const byDeadline = { order: { kind: 'deadline' }, slackNs: 0 } as const;
    this.queues = new TaskQueues(models.length, this.requests, byDeadline);
    this.touched = new Uint8Array(models.length);
    this.lastUse = new Float64Array(models.length);
    this.wake = new Float64Array(models.length).fill(NEVER);
    this.seen = new Int32Array(models.length).fill(NONE);
    this.quietUntil = new Float64Array(models.length).fill(-1);
    this.quietSize = new Int32Array(models.length);
  }

  /** probes counts the calls of probe() so far. */
  get probes(): number {
    return this.dispatcher.probes;
  }

  get pending(): number {
    return this.life.pending;
  }

  /** inUse counts the requests, tasks, batches and reservations in use. Memory follows these counts. */
  get inUse(): { requests: number; tasks: number; batches: number; reservations: number } {
    return { ...this.life.inUse, reservations: this.booking.kept };
  }

  taskOf(request: number, row: number): number {
    return this.life.taskOf(request, row);
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

  /** batchEdge is 0: reservations are made for chains. */
  batchEdge(): number {
    return 0;
  }

  requestOf(task: number): number {
    return this.requests.requestOf(task);
  }

  rowOf(task: number): number {
    return this.life.rowOf(task);
  }

  arrived(at: number, model: number, deadlineNs: number, rows: number, weight = 1): number {
    const request = this.life.arrived(model, deadlineNs, rows);
    if (weight !== 1) this.requests.setWeight(request, weight);
    if (this.requests.isSettled(request)) return request;
    for (let task = this.requests.firstTask(request); task !== NONE; task = this.requests.nextTask(task))
      this.requeue(at, task);
    return request;
  }

  turnedAway(at: number, model: number): number {
    return this.life.turnedAway(at, model);
  }

  cancelled(_at: number, request: number): boolean {
    return this.life.cancelled(request);
  }

  /**
   * wouldDrop is always false: reservations exist for batches, and say nothing about a request that is not in
   * yet.
   */
  wouldDrop(): boolean {
    return false;
  }

  started(at: number, batch: number): void {
    this.forwarding.started(at, batch);
  }

  executed(at: number, batch: number, startedAt: number, endedAt: number): void {
    const pool = this.batches.pool(batch);
    this.durations.observeExecution(pool, this.batches.size(batch), endedAt - startedAt);
    const last = this.stages[pool] === 1;
    if (last) this.life.endTasks(at, batch);
    this.forwarding.executed(at, batch, last);
    if (last) this.batches.close(batch);
  }

  transferred(at: number, batch: number, startedAt: number, endedAt: number): void {
    const pool = this.batches.pool(batch);
    this.durations.observeTransfer(pool, this.batches.size(batch), endedAt - startedAt);
    // The next stage has lost its devices. The batch's tasks start again, since the driver has their inputs.
    if (!this.forwarding.transferred(at, batch)) this.life.lostWithDevice(at, batch, false);
  }

  failed(at: number, batch: number): void {
    this.forwarding.lost(at, batch);
    this.retried = true;
    this.life.executionFailed(at, batch);
  }

  deviceUp(_at: number, device: number): void {
    this.poolsUp.deviceUp(device);
    this.booking.deviceUp(device);
    this.forwarding.deviceUp(device);
    this.touchAll();
  }

  deviceDown(at: number, device: number): void {
    if (!this.poolsUp.isDeviceUp(device)) return;
    this.poolsUp.deviceDown(device);
    this.booking.deviceDown(device);
    for (const batch of this.forwarding.deviceDown(at, device)) {
      const wasRunning = this.journeys.leg[batch] === Leg.executing;
      if (wasRunning) this.retried = true;
      this.life.lostWithDevice(at, batch, wasRunning);
    }
    this.touchAll();
  }

  due(_at: number): void {
    this.life.due();
  }

  drain(_at: number): void {
    this.life.drain();
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
    this.forwarding.decide(at);
    this.life.decided(earliest);
  }

  /**
   * serve repeats PPipe Algorithm 1 until the oldest request waits.
   * @returns when to look at the queue again
   */
  private serve(at: number, model: number): number {
    for (;;) {
      const head = this.queues.first(model);
      if (head === NONE) return NEVER;
      const deadline = this.requests.deadlineOf(this.requests.requestOf(head));
      const size = this.dispatcher.offer(
        at,
        model,
        deadline,
        this.seen[model] !== head,
        this.togetherWith(head),
      );
      this.quietUntil[model] = -1;
      if (size === 0) {
        this.relaxIfUnused(at, model, deadline);
        const until = this.lastMomentForDevices(model, deadline);
        if (until > at) return until;
        this.life.giveUp(head, NONE, until === NOT_DOWN);
        continue;
      }
      this.seen[model] = head;
      const { entry } = this.dispatcher;
      const waiting = this.queues.size(model);
      if (waiting >= size) {
        this.dispatch(at, model, size);
        continue;
      }
      const until = this.life.draining ? at : this.lastMoment(model, head, entry);
      if (until > at) return this.waitQuietly(at, model, size, deadline, until);
      // The larger batch is in time. Where a smaller batch takes longer, the tasks that wait may not be.
      const fits = this.dispatcher.largest(at, entry, deadline, false, waiting);
      if (fits === 0) this.life.giveUp(head, NONE, true);
      else this.dispatch(at, model, fits);
    }
  }

  /**
   * lastMomentForDevices is the last moment at which a request that finds none of its pipelines up could
   * still start in time; NOT_DOWN where one is up.
   */
  private lastMomentForDevices(model: number, deadline: number): number {
    const { entries } = this.topology.models[model] as ServedModel;
    let least = NEVER;
    for (const entry of entries) {
      if (this.poolsUp.isUp(entry)) return NOT_DOWN;
      least = Math.min(least, this.durations.workNs(entry, 1));
    }
    return deadline - least;
  }

  /**
   * relaxIfUnused gives pipelines another chance when their own expected times have kept them from any work for as long
   * as the model's SLO.
   */
  private relaxIfUnused(at: number, model: number, deadline: number): void {
    const { entries } = this.topology.models[model] as ServedModel;
    if (at - (this.lastUse[model] as number) < (this.leastSlosNs[model] as number)) return;
    for (const entry of entries) {
      const isForbidden = at + this.durations.workNs(entry, 1) > deadline;
      if (isForbidden && at + this.durations.plannedWorkNs(entry, 1) <= deadline) this.durations.relax(entry);
    }
  }

  /**
   * togetherWith is how many tasks from the head on may be in one batch. A task that was in a lost batch is
   * tried alone.
   */
  private togetherWith(head: number): number {
    if (!this.retried) return NEVER;
    if (this.queues.isAlone(head)) return 1;
    let task = head;
    for (let count = 1; count < this.dispatcher.mostPlanned; count++) {
      task = this.queues.next(task);
      if (task === NONE) return NEVER;
      if (this.queues.isAlone(task)) return count;
    }
    return NEVER;
  }

  /**
   * waitQuietly leaves the batch to wait, and sets until when arrivals need no new decision. The batch that was found
   * to be in time stays so for as long as it would end before the deadline. Whatever arrives, its last moment is no
   * earlier than that of the slowest batch.
   * @returns when to look at the queue again
   */
  private waitQuietly(at: number, model: number, size: number, deadline: number, until: number): number {
    if (EVERY_ARRIVAL[this.policy.review]) return until;
    const { entry, path } = this.dispatcher;
    const soonestLast = deadline - this.durations.mostWorkNs(entry);
    if (soonestLast <= at) return until;
    this.quietUntil[model] = Math.min(soonestLast, at + deadline - path.finish);
    this.quietSize[model] = size;
    return Math.min(soonestLast, until);
  }

  /** lastMoment is the time until which the waiting tasks wait for company. */
  private lastMoment(model: number, head: number, entry: number): number {
    const waiting = this.queues.size(model);
    const more = Math.min(waiting + 1, this.dispatcher.planned[entry] as number);
    const deadline = this.requests.deadlineOf(this.requests.requestOf(head));
    const past = deadline - this.durations.workNs(entry, more) + this.policy.wakeStepNs;
    switch (this.policy.lastMoment) {
      case 'one-more':
        return past;
      case 'in-time':
        return Math.min(past, deadline - this.durations.workNs(entry, Math.min(waiting, more)));
    }
  }

  private dispatch(at: number, model: number, size: number): void {
    this.lastUse[model] = at;
    const { entry, path } = this.dispatcher;
    const batch = this.batches.open(entry, path.device[0] as number);
    for (let i = 0; i < size; i++) {
      const task = this.queues.first(model);
      this.queues.remove(model, task);
      this.life.putInBatch(batch, task);
    }
    this.seen[model] = NONE;
    this.booking.reserve(path, entry, size, 0, this.journeys.step(batch, 0));
    this.journeys.begin(batch, entry, path);
    this.forwarding.begin(batch);
    this.dispatcher.dispatched(model, entry, size);
    this.dispatches += 1;
  }

  private touchAll(): void {
    this.touched.fill(1);
    this.quietUntil.fill(-1);
    this.dispatcher.devicesChanged();
  }

  /** requeue puts a task into the queue of its model, in the order of deadlines and behind equals. */
  private requeue(at: number, task: number): void {
    const model = this.queueOf(task);
    this.requests.enterQueue(task);
    this.queues.insert(model, task);
    const isQuiet = at < (this.quietUntil[model] as number) && this.queues.previous(task) !== NONE;
    if (!isQuiet || this.queues.size(model) >= (this.quietSize[model] as number)) this.touched[model] = 1;
  }

  private queueOf(task: number): number {
    return this.sharing[this.requests.modelOf(this.requests.requestOf(task))] as number;
  }

  private leaveQueue(task: number): void {
    const model = this.queueOf(task);
    this.queues.remove(model, task);
    if (this.seen[model] === task) this.seen[model] = NONE;
  }

  private isWanted(batch: number): boolean {
    return !this.holes || this.life.keepWanted(batch);
  }
}
