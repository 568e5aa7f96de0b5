import { NONE as SHARED_NONE } from '../../collections/index.js';
import { must } from '../broken-promise.js';
import type { ServingCore } from '../core.js';
import { type Decisions, Decision as SharedDecision, DropCode as SharedDropCode } from '../decisions.js';
import { NEXT_BY_EDGES as SHARED_BY_EDGES } from '../state/index.js';
import type { Topology } from '../topology.js';
import { type PartsHooks, type StageLocalOptions, StageLocalParts } from './parts.js';
import type { QueueSet } from './placing/queue-set.js';
import type { InstantRule } from './policy.js';
import { QueueService } from './queue-service.js';
import { TaskMoves } from './task-moves.js';

export type { StageLocalOptions } from './parts.js';

const NONE = SHARED_NONE;
const NEXT_BY_EDGES = SHARED_BY_EDGES;
const Decision = SharedDecision;
const DropCode = SharedDropCode;

const NEVER = Number.POSITIVE_INFINITY;
const NO_VERDICTS: readonly number[] = [];

const IS_TOLD: { readonly [K in InstantRule]: boolean } = { told: true, 'by-place': false };

/**
 * StageLocalCore schedules the pools of a plan stage by stage: every stage forms its own batches of the tasks
 * that wait before it, and looks at no link. A StageLocalPolicy chooses its parts; this class is what all
 * such schedulers share.
 *
 * An event costs constant time, except for the place in a queue (constant for equal SLOs), a scan of at most
 * one batch per start and, where devices are handed batches ahead, a logarithm of their number. `decide` looks only
 * at the queues that something happened to. Memory follows the number of requests in flight.
 */
export class StageLocalCore implements ServingCore {
  private readonly life: StageLocalParts['life'];
  private readonly requests: StageLocalParts['requests'];
  private readonly batches: StageLocalParts['batches'];
  private readonly policy: StageLocalParts['policy'];
  private readonly columns: StageLocalParts['columns'];
  private readonly durations: StageLocalParts['durations'];
  private readonly formation: StageLocalParts['formation'];
  private readonly dropping: StageLocalParts['dropping'];
  private readonly hearing: StageLocalParts['hearing'];
  private readonly timeouts: StageLocalParts['timeouts'];
  private readonly placement: StageLocalParts['placement'];
  private readonly background: StageLocalParts['background'];
  private readonly passing: StageLocalParts['passing'];
  private readonly gears: StageLocalParts['gears'];
  private readonly scaler: StageLocalParts['scaler'];
  private readonly tuning: StageLocalParts['tuning'];
  private readonly weighed: StageLocalParts['weighed'];
  private readonly pace: StageLocalParts['pace'];
  private readonly topology: StageLocalParts['topology'];
  private readonly decisions: StageLocalParts['decisions'];
  /** `planner` is what is observed of the stages; it is absent where no rule decides by it. */
  readonly planner: StageLocalParts['planner'];
  /**
   * isTold says whether batches that end a step at the same instant go on in the order in which the core
   * heard of them (InstantRule).
   */
  private readonly isTold: boolean;
  /** `touched` holds the queues that are to be looked at again in this `decide`. */
  private readonly touched: QueueSet;
  private readonly moves: TaskMoves;
  private readonly service: QueueService;
  /**
   * `delivered` and `ended` hold the batches that ended a transfer or an execution at this instant, and go on
   * by their place.
   */
  private readonly delivered: number[] = [];
  private readonly ended: number[] = [];

  /**
   * @param decisions the driver's buffer, where decisions are appended
   * @param options the choices that differ from DEFAULT_POLICY
   */
  constructor(topology: Topology, decisions: Decisions, options: StageLocalOptions = {}) {
    const hooks: PartsHooks = {
      leave: (queue, task) => this.moves.leave(queue, task),
      requeue: (at, task) => this.moves.requeue(at, task),
      judged: (request, inTime) => this.moves.judged(request, inTime),
      comesTo: (at, task, stage) => this.moves.comesTo(at, task, stage),
      giveUp: (queue, task) => this.moves.missed(queue, task),
      relax: (at, pool, first, device) => this.service.relaxIfUnused(at, pool, first, device),
      startCollected: (at, queue, device) => this.service.startCollected(at, queue, device),
      retire: (at, device) => this.retire(at, device),
    };
    const parts = new StageLocalParts({ topology, decisions, options }, hooks);
    this.life = parts.life;
    this.requests = parts.requests;
    this.batches = parts.batches;
    this.policy = parts.policy;
    this.columns = parts.columns;
    this.durations = parts.durations;
    this.formation = parts.formation;
    this.planner = parts.planner;
    this.dropping = parts.dropping;
    this.hearing = parts.hearing;
    this.timeouts = parts.timeouts;
    this.placement = parts.placement;
    this.background = parts.background;
    this.passing = parts.passing;
    this.gears = parts.gears;
    this.scaler = parts.scaler;
    this.tuning = parts.tuning;
    this.weighed = parts.weighed;
    this.pace = parts.pace;
    this.topology = parts.topology;
    this.decisions = parts.decisions;
    this.isTold = IS_TOLD[parts.policy.instant];
    this.touched = parts.placement.touched;
    this.moves = new TaskMoves(parts);
    this.service = new QueueService(parts, this.moves);
  }

  get pending(): number {
    return this.life.pending;
  }

  get inUse(): { requests: number; tasks: number; batches: number } {
    return this.life.inUse;
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

  batchEdge(batch: number): number {
    return this.batches.edge(batch);
  }

  requestOf(task: number): number {
    return this.requests.requestOf(task);
  }

  rowOf(task: number): number {
    return this.life.rowOf(task);
  }

  /** observe tells the planner that the time has passed, before any other event. */
  private observe(at: number): void {
    const { planner } = this;
    if (planner !== undefined && at >= planner.nextAt) planner.passed(at);
  }

  arrived(at: number, model: number, deadlineNs: number, rows: number, weight = 1): number {
    this.observe(at);
    this.tuning?.arrived(at, rows);
    this.geared(at, rows);
    const request = this.life.arrived(model, deadlineNs, rows);
    if (weight !== 1) this.requests.setWeight(request, weight);
    const { requests } = this;
    if (requests.isSettled(request)) return request;
    if (this.columns.pipelines[model] === 0) {
      this.life.drop(request, DropCode.deviceDown, NONE);
      return request;
    }
    this.timeouts?.arrived(request);
    if (this.isStrict(at, model, deadlineNs)) requests.setStrict(request);
    const first = this.columns.dagOf[model] as number;
    if (first !== NONE) this.passing.openFlows(request, first);
    for (let task = requests.firstTask(request); task !== NONE; task = requests.nextTask(task)) {
      requests.setQueuedAt(task, at);
      this.placement.begin(at, task);
      if (this.gears !== undefined) this.placement.goOn(at, task, this.gears.entry);
      this.moves.cameTo(at, task);
      this.moves.enqueue(at, task);
    }
    if (first !== NONE) this.passing.enter(at, request, first);
    return request;
  }

  turnedAway(at: number, model: number): number {
    this.tuning?.arrived(at, 1);
    this.geared(at, 1);
    return this.life.turnedAway(at, model);
  }

  /** geared chooses the gear anew as time passes and requests come. */
  private geared(at: number, requests: number): void {
    const { gears } = this;
    if (gears === undefined) return;
    const before = gears.current;
    gears.passed(at);
    if (requests > 0) gears.arrived(requests);
    if (gears.current === before) return;
    this.decisions.push(Decision.shift, gears.current);
    this.touched.addAll();
  }

  wouldDrop(at: number, model: number, deadlineNs: number, ahead: number): boolean {
    // The weight of a request that is not in yet is not known.
    if (!this.dropping.drops || this.weighed?.isWeighed === true) return false;
    if (this.background.takes(model) && !this.isStrict(at, model, deadlineNs)) return false;
    return this.placement.isTooLong(at, model, deadlineNs - this.policy.slackNs, ahead);
  }

  private isStrict(at: number, model: number, deadlineNs: number): boolean {
    return deadlineNs - at < (this.columns.sloNs[model] as number);
  }

  cancelled(_at: number, request: number): boolean {
    // With fewer tasks waiting, the last moment to start moves later.
    if (this.formation?.waitsLonger === true)
      for (let task = this.requests.firstTask(request); task !== NONE; task = this.requests.nextTask(task))
        if (this.requests.isQueued(task)) this.touched.add(this.placement.queueOf(task));
    return this.life.cancelled(request);
  }

  started(at: number, batch: number): void {
    this.placement.started(at, batch);
    this.hearing?.started(at, batch);
  }

  executed(
    at: number,
    batch: number,
    startedAt: number,
    endedAt: number,
    verdicts: ArrayLike<number> = NO_VERDICTS,
  ): void {
    this.observe(at);
    this.hearing?.ended(at, batch);
    const pool = this.batches.pool(batch);
    this.tuning?.executed(pool, this.batches.size(batch), endedAt - startedAt);
    this.leftWith(at, batch);
    const device = this.batches.device(batch);
    this.durations.observeExecution(pool, this.batches.size(batch), endedAt - startedAt, device);
    this.placement.executed(at, batch, endedAt);
    const next = this.columns.next[pool] as number;
    if (next === NEXT_BY_EDGES) this.passing.judged(batch, verdicts);
    if (next === NONE) {
      this.life.endTasks(at, batch);
      this.batches.close(batch);
    } else if (this.isTold) this.sendOn(at, batch);
    else this.ended.push(batch);
  }

  private sendOn(at: number, batch: number): void {
    if (this.columns.next[this.batches.pool(batch)] === NEXT_BY_EDGES) this.passing.sendOn(at, batch);
    else this.life.sendOn(batch);
  }

  failed(at: number, batch: number): void {
    this.observe(at);
    this.hearing?.ended(at, batch);
    this.placement.failed(at, batch);
    this.leftWith(at, batch);
    this.life.executionFailed(at, batch);
  }

  transferred(at: number, batch: number, startedAt: number, endedAt: number): void {
    this.observe(at);
    must(this.batches.isMoving(batch), 'a batch was transferred that was not moving');
    const pool = this.batches.pool(batch);
    this.durations.observeTransfer(pool, this.batches.size(batch), endedAt - startedAt);
    if (this.isTold) this.deliver(at, batch);
    else this.delivered.push(batch);
  }

  /** deliver puts the tasks of a batch into the next queue. */
  private deliver(at: number, batch: number): void {
    const next = this.columns.next[this.batches.pool(batch)] as number;
    if (next === NEXT_BY_EDGES) {
      this.passing.delivered(at, batch);
      return;
    }
    const size = this.batches.size(batch);
    for (let i = 0; i < size; i++) {
      const task = this.batches.task(batch, i);
      if (!this.life.cameBack(task)) continue;
      this.moves.comesTo(at, task, next);
    }
    this.batches.close(batch);
  }

  deviceUp(at: number, device: number): void {
    this.observe(at);
    this.scaler.deviceUp(device);
    this.tuning?.ready(at, device, true);
    this.placement.deviceUp(at, device);
    this.durations.devicesChanged(device, true);
    for (const queue of this.placement.joined(device)) this.moves.moveOn(at, queue);
  }

  deviceDown(at: number, device: number): void {
    this.observe(at);
    const running = this.placement.running(device);
    if (running === NONE && !this.placement.isDeviceUp(device)) return;
    this.scaler.deviceDown(device);
    this.tuning?.ready(at, device, false);
    if (this.placement.isDeviceUp(device)) this.durations.devicesChanged(device, false);
    if (running !== NONE) this.hearing?.ended(at, running);
    for (const batch of this.placement.deviceDown(device)) {
      this.leftWith(at, batch);
      this.life.lostWithDevice(at, batch, batch === running);
    }
    this.leaveBroken(at, device);
  }

  /**
   * retire puts a device on standby. A batch that was handed to the device and has not begun is queued again.
   */
  private retire(at: number, device: number): void {
    this.decisions.push(Decision.retire, device);
    this.tuning?.ready(at, device, false);
    if (this.placement.isDeviceUp(device)) this.durations.devicesChanged(device, false);
    for (const batch of this.placement.retire(device)) {
      this.leftWith(at, batch);
      this.life.lostWithDevice(at, batch, false);
    }
    this.leaveBroken(at, device);
  }

  /** leftWith tells the tuner that the tasks of a batch have left its pool, executed or not. */
  private leftWith(at: number, batch: number): void {
    this.tuning?.left(at, this.batches.pool(batch), this.batches.size(batch));
  }

  /** leaveBroken places the tasks again whose devices are gone, or that wait for pools which have lost their last one. */
  private leaveBroken(at: number, device: number): void {
    for (const queue of this.placement.left(device)) this.moves.moveOn(at, queue);
  }

  due(_at: number): void {
    this.life.due();
  }

  drain(_at: number): void {
    this.life.drain();
    this.touched.addAll();
  }

  decide(at: number): void {
    this.pace.passed(at);
    if (this.life.pending > 0) this.observe(at);
    this.geared(at, 0);
    if (this.delivered.length > 0) this.deliverByPlace(at);
    if (this.ended.length > 0) this.sendByPlace(at);
    this.endTimedOut(at);
    if (this.tuning?.isDue(at) === true) this.tuning.decide(at);
    if (this.scaler.isDue(at)) this.scaler.decide(at);
    this.service.lookAtTouched(at);
    const { gears, tuning, planner, timeouts } = this;
    const timeoutAt = timeouts?.nextAt ?? NEVER;
    const again = Math.min(this.service.nextAt, this.scaler.nextAt, tuning?.nextAt ?? NEVER, timeoutAt);
    // Where all that is open waits for a device and nothing is due, the state has nobody to be shared for.
    const isServing = this.life.pending > 0 && (again < NEVER || this.batches.count > 0);
    const shared = planner !== undefined && isServing ? planner.nextAt : NEVER;
    this.life.decided(Math.min(again, shared, gears?.nextAt ?? NEVER));
  }

  private endTimedOut(at: number): void {
    const { timeouts } = this;
    if (timeouts === undefined) return;
    for (let request = timeouts.due(at); request !== NONE; request = timeouts.due(at))
      this.moves.timedOut(request);
  }

  private deliverByPlace(at: number): void {
    const { uplinkOf } = this.topology.links;
    const placeOf = (batch: number) => uplinkOf[this.batches.device(batch)] as number;
    this.delivered.sort((a, b) => placeOf(a) - placeOf(b));
    for (const batch of this.delivered) {
      const next = this.columns.next[this.batches.pool(batch)] as number;
      const queue = this.placement.queueBefore(
        next === NEXT_BY_EDGES ? this.passing.stageAfter(batch) : next,
      );
      this.deliver(at, batch);
      if (this.touched.has(queue)) this.service.look(at, queue);
    }
    this.delivered.length = 0;
  }

  private sendByPlace(at: number): void {
    this.ended.sort((a, b) => this.batches.device(a) - this.batches.device(b));
    for (const batch of this.ended) this.sendOn(at, batch);
    this.ended.length = 0;
  }
}
