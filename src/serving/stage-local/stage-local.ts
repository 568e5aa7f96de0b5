import { Lists, NONE as SHARED_NONE } from '../../collections/index.js';
import type { Streams } from '../../random/index.js';
import { brokenPromise, must } from '../broken-promise.js';
import type { ServingCore } from '../core.js';
import { type Decisions, Decision as SharedDecision, DropCode as SharedDropCode } from '../decisions.js';
import {
  Durations,
  type OpenBatches,
  PlanColumns,
  RequestLife,
  type Requests,
  NEXT_BY_EDGES as SHARED_BY_EDGES,
  type WaitingTasks,
  waitingTasks,
} from '../state/index.js';
import { gearsOf, type Topology } from '../topology.js';
import { type TunedPlan, Tuning } from '../tuning/index.js';
import { Background } from './background.js';
import { RequestBroker } from './broker.js';
import { type BatchHearing, type Dropping, droppingOf } from './dropping.js';
import { EarliestFree } from './earliest-free.js';
import { Escalation } from './escalation.js';
import { type Formation, formationOf } from './formation.js';
import { Gears } from './gears.js';
import { OnArrival } from './on-arrival.js';
import type { Onward, OnwardHooks } from './onward.js';
import { Passing } from './passing.js';
import { PerDevice, perDeviceQueues } from './per-device.js';
import { PlannedBatches } from './planned-batches.js';
import {
  DEFAULT_POLICY,
  type InstantRule,
  type PlacementRule,
  type ScalingRule,
  type SharingRule,
  type StageLocalPolicy,
} from './policy.js';
import type { QueueSet } from './queue-set.js';
import type { Readings } from './readings.js';
import { Scaler } from './scaler.js';
import type { SharedState } from './shared-state.js';
import { Sharing } from './sharing.js';
import { stateNeeds } from './state-needs.js';
import { StatePlanner } from './state-planner.js';
import type { TaskPlacement } from './task-placement.js';
import { WakeTimes } from './wake-times.js';

const NONE = SHARED_NONE;
const NEXT_BY_EDGES = SHARED_BY_EDGES;
const Decision = SharedDecision;
const DropCode = SharedDropCode;

const NEVER = Number.POSITIVE_INFINITY;
const NO_VERDICTS: readonly number[] = [];

const NO_SCALING: ScalingRule = { kind: 'none' };

const IS_TOLD: { readonly [K in InstantRule]: boolean } = { told: true, 'by-place': false };

/** CORRECTS tells whether the times at which devices are free follow what happened. */
const CORRECTS: { readonly [K in StageLocalPolicy['correction']['kind']]: boolean } = {
  none: false,
  average: true,
  steps: true,
};

function queueCount(placement: PlacementRule, topology: Topology): number {
  const { models, pools } = topology;
  switch (placement) {
    case 'on-arrival':
      return pools.length;
    case 'earliest-free':
      return models.length + pools.length;
    case 'per-device':
      return perDeviceQueues(topology);
  }
}

function placementOf(
  { placement, choice, dispatch, correction }: StageLocalPolicy,
  state: SharedState,
  dropping: Dropping,
): TaskPlacement {
  switch (placement) {
    case 'on-arrival':
      return new OnArrival(state, choice, dropping);
    case 'earliest-free':
      return new EarliestFree(state, CORRECTS[correction.kind]);
    case 'per-device':
      return new PerDevice(state, { choice, dispatch });
  }
}

function sharingOf(rule: SharingRule, state: SharedState): Sharing | undefined {
  const isShared = state.topology.devices.some(({ otherPools }) => otherPools !== undefined);
  return isShared ? new Sharing(rule, state) : undefined;
}

/** StageLocalOptions holds the choices that differ from DEFAULT_POLICY, and by what devices come and go. */
export interface StageLocalOptions extends Partial<StageLocalPolicy> {
  scaling?: ScalingRule;
  tuning?: TunedPlan;
  /** The streams of rules that draw random numbers; absent, none may. */
  streams?: Streams;
  /** What the paper of PARD leaves open, where it is read otherwise. */
  readings?: Readings;
}

const noStreams: Streams = (purpose) => {
  throw brokenPromise(`random numbers are to be drawn for ${purpose}, and no streams were handed in`);
};

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
  private readonly life: RequestLife;
  private readonly requests: Requests;
  private readonly batches: OpenBatches;
  private readonly policy: StageLocalPolicy;
  private readonly columns: PlanColumns;
  private readonly durations: Durations;
  private readonly queues: WaitingTasks;
  /** `collected` holds the tasks that are collected for the next batch of each device, where batches are formed ahead. */
  private readonly collected: Lists;
  /** `formation` is absent where batches are formed ahead, by the broker; else the broker is. */
  private readonly formation: Formation | undefined;
  private readonly broker: RequestBroker | undefined;
  /** `planner` is what is observed of the stages; it is absent where no rule decides by it. */
  readonly planner: StatePlanner | undefined;
  private readonly dropping: Dropping;
  /** `hearing` is what the drop rule hears of batches; it is absent where the rule does not listen. */
  private readonly hearing: BatchHearing | undefined;
  private readonly placement: TaskPlacement;
  private readonly background: Background;
  /** `passing` moves the tasks of routes that are DAGs, or cascades. */
  private readonly passing: Onward;
  /** `gears` chooses by which cascade a request is served; it is absent where the plan has no gears. */
  private readonly gears: Gears | undefined;
  /** `sharing` orders the queues whose devices serve several pools; it is absent where no device does. */
  private readonly sharing: Sharing | undefined;
  private readonly scaler: Scaler;
  /** `tuning` says how many devices the scaler is to have in use; it is absent where the plan has no tuner. */
  private readonly tuning: Tuning | undefined;
  /** Whether batches that end a step at the same instant go on in the order in which they were told (InstantRule). */
  private readonly isTold: boolean;
  /**
   * `touched` holds the queues that are to be looked at again in this `decide`; `wake` is when each queue is looked
   * at otherwise.
   */
  private readonly touched: QueueSet;
  private readonly wake: WakeTimes;
  /**
   * `delivered` and `ended` hold the batches that ended a transfer or an execution at this instant, and go on
   * by their place.
   */
  private readonly delivered: number[] = [];
  private readonly ended: number[] = [];
  /** Whether a queue is looked at that has not started the one batch of its turn. */
  private isTurn = false;

  /**
   * @param decisions the driver's buffer, where decisions are appended
   * @param options the choices that differ from DEFAULT_POLICY
   */
  constructor(
    private readonly topology: Topology,
    private readonly decisions: Decisions,
    { scaling = NO_SCALING, tuning, streams = noStreams, readings = {}, ...policy }: StageLocalOptions = {},
  ) {
    const chosen = { ...DEFAULT_POLICY, ...policy };
    const life = new RequestLife(
      { topology, decisions, limits: chosen },
      {
        leaveQueue: (task) => this.leave(this.placement.queueOf(task), task),
        requeue: (at, task) => this.requeue(at, task),
        ended: (task) => this.placement.ended(task),
        judged: (request, inTime) => this.judged(request, inTime),
      },
    );
    const { requests, batches } = life;
    this.life = life;
    this.requests = requests;
    this.batches = batches;
    const queues = waitingTasks(queueCount(chosen.placement, topology), requests, {
      ...chosen,
      isOverloaded: (queue) => this.planner?.isOverloaded(this.placement.placeOf(queue)) ?? false,
    });
    const durations = new Durations(topology, chosen.correction);
    const columns = new PlanColumns(topology);
    this.policy = chosen;
    this.columns = columns;
    this.isTold = IS_TOLD[chosen.instant];
    this.durations = durations;
    this.queues = queues;
    this.collected = new Lists(queues.count);
    const gears = this.gearsOver(topology);
    this.gears = gears;
    this.planner = this.plannerOver({ requests, readings, streams });
    const state: SharedState = {
      topology,
      columns,
      requests,
      batches,
      queues,
      collected: this.collected,
      durations,
      planned: new PlannedBatches(columns, durations),
      planner: this.planner,
      ...{ gears, readings, streams },
    };
    this.formation = formationOf(chosen.formation, state);
    this.dropping = droppingOf(chosen.drop, state);
    this.hearing = this.dropping.hearing;
    this.placement = placementOf(chosen, state, this.dropping);
    this.broker = this.brokerOver(state);
    this.background = new Background(chosen.late, state);
    this.passing = this.onward(life);
    this.sharing = sharingOf(chosen.sharing, state);
    this.scaler = this.scalerOver(scaling, tuning);
    this.tuning = tuning && new Tuning(tuning, topology, this.scaler);
    this.touched = this.placement.touched;
    this.wake = new WakeTimes(queues.count);
  }

  private gearsOver({ routes, pools }: Topology): Gears | undefined {
    const table = gearsOf(routes);
    return table && new Gears(table, pools.length, (pool) => this.placement.waitingBefore(pool));
  }

  private plannerOver({
    requests,
    readings,
    streams,
  }: Pick<SharedState, 'requests' | 'readings' | 'streams'>): StatePlanner | undefined {
    const observed = stateNeeds(this.policy);
    const needs = observed && { ...observed, readings };
    const { topology, columns, durations } = this;
    const stream = () => streams('pard/waits');
    const devicesUp = (pool: number) => this.placement.devicesUp(pool);
    return needs && new StatePlanner({ topology, columns, requests, durations, stream, devicesUp }, needs);
  }

  private scalerOver(scaling: ScalingRule, tuning: TunedPlan | undefined): Scaler {
    const { topology, decisions } = this;
    return new Scaler(
      scaling,
      { topology, decisions, ...(tuning && { gpus: tuning.gpus }) },
      {
        retire: (at, device) => this.retire(at, device),
        isRunning: (device) => this.placement.running(device) !== NONE,
      },
    );
  }

  private brokerOver(state: SharedState): RequestBroker | undefined {
    if (this.formation !== undefined) return undefined;
    const { placement, dropping, decisions } = this;
    if (!(placement instanceof PerDevice))
      throw brokenPromise('batches are to be formed ahead on devices that have no queues of their own');
    const isShared = state.topology.devices.some(({ otherPools }) => otherPools !== undefined);
    return new RequestBroker(
      state,
      { placement, dropping, decisions, isShared },
      {
        giveUp: (queue, task) => this.missed(queue, task),
        relax: (at, pool, head) => this.relaxIfUnused(at, pool, head),
        start: (at, queue, device) => this.startCollected(at, queue, device),
      },
    );
  }

  private onward(life: RequestLife): Onward {
    const { topology, decisions, gears } = this;
    const hooks: OnwardHooks = {
      comesTo: (at, task, stage) => this.comesTo(at, task, stage),
      branched: (task) => this.placement.branched(task),
      watchesEdges: (stage) => this.planner?.watchesEdges(stage) ?? false,
      took: (stage, edges) => this.planner?.took(stage, edges),
    };
    if (gears !== undefined) return new Escalation({ topology, gears, life, decisions }, hooks);
    return new Passing(life, decisions, hooks);
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

  /** observe tells the planner that the time has passed, before anything else is told. */
  private observe(at: number): void {
    const { planner } = this;
    if (planner !== undefined && at >= planner.nextAt) planner.passed(at);
  }

  arrived(at: number, model: number, deadlineNs: number, rows: number): number {
    this.observe(at);
    this.tuning?.arrived(at, rows);
    this.geared(at, rows);
    const request = this.life.arrived(model, deadlineNs, rows);
    const { requests } = this;
    if (requests.isSettled(request)) return request;
    if (this.columns.pipelines[model] === 0) {
      this.life.drop(request, DropCode.deviceDown, NONE);
      return request;
    }
    if (this.isStrict(at, model, deadlineNs)) requests.setStrict(request);
    const first = this.columns.dagOf[model] as number;
    if (first !== NONE) this.passing.openFlows(request, first);
    for (let task = requests.firstTask(request); task !== NONE; task = requests.nextTask(task)) {
      requests.setQueuedAt(task, at);
      this.placement.begin(at, task);
      if (this.gears !== undefined) this.placement.goOn(at, task, this.gears.entry);
      this.cameTo(at, task);
      this.enqueue(at, task);
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
    if (!this.dropping.drops) return false;
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
    this.durations.observeExecution(pool, this.batches.size(batch), endedAt - startedAt);
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
      this.comesTo(at, task, next);
    }
    this.batches.close(batch);
  }

  private comesTo(at: number, task: number, pool: number): void {
    this.requests.setQueuedAt(task, at);
    this.placement.goOn(at, task, pool);
    this.cameTo(at, task);
    this.enqueue(at, task);
  }

  /** cameTo tells the planner that a task has come to its stage. */
  private cameTo(at: number, task: number): void {
    const pool = this.requests.poolOf(task);
    if (pool !== NONE) this.planner?.came(at, pool);
  }

  deviceUp(at: number, device: number): void {
    this.observe(at);
    this.scaler.deviceUp(device);
    this.tuning?.ready(at, device, true);
    this.placement.deviceUp(at, device);
    for (const queue of this.placement.joined(device)) this.moveOn(at, queue);
  }

  deviceDown(at: number, device: number): void {
    this.observe(at);
    const running = this.placement.running(device);
    if (running === NONE && !this.placement.isDeviceUp(device)) return;
    this.scaler.deviceDown(device);
    this.tuning?.ready(at, device, false);
    if (running !== NONE) this.hearing?.ended(at, running);
    for (const batch of this.placement.deviceDown(device)) {
      this.leftWith(at, batch);
      this.life.lostWithDevice(at, batch, batch === running);
    }
    this.leaveBroken(at, device);
  }

  /** retire puts a device on standby. What it was handed and has not begun is queued again. */
  private retire(at: number, device: number): void {
    this.decisions.push(Decision.retire, device);
    this.tuning?.ready(at, device, false);
    for (const batch of this.placement.retire(device)) {
      this.leftWith(at, batch);
      this.life.lostWithDevice(at, batch, false);
    }
    this.leaveBroken(at, device);
  }

  /** leftWith tells the tuner that the tasks of a batch have left its pool, executed or not. */
  private leftWith(at: number, batch: number): void {
    this.tuning?.came(at, this.batches.pool(batch), -this.batches.size(batch));
  }

  /** leaveBroken places the tasks again whose devices are gone, or that wait for pools which have lost their last one. */
  private leaveBroken(at: number, device: number): void {
    for (const queue of this.placement.left(device)) this.moveOn(at, queue);
  }

  /** moveOn places all tasks of a queue again, where they can be served. Those in the background go with the others. */
  private moveOn(at: number, queue: number): void {
    const { queues, collected, background } = this;
    for (let left = collected.size(queue); left > 0; left--) this.moveTask(at, queue, collected.first(queue));
    for (let left = queues.size(queue); left > 0; left--) this.moveTask(at, queue, queues.first(queue));
    for (let left = background.size(queue); left > 0; left--)
      this.moveTask(at, queue, background.first(queue));
  }

  private moveTask(at: number, queue: number, task: number): void {
    this.leave(queue, task);
    this.requeue(at, task);
  }

  due(_at: number): void {
    this.life.due();
  }

  drain(_at: number): void {
    this.life.drain();
    this.touched.addAll();
  }

  decide(at: number): void {
    if (this.life.pending > 0) this.observe(at);
    this.geared(at, 0);
    if (this.delivered.length > 0) this.deliverByPlace(at);
    if (this.ended.length > 0) this.sendByPlace(at);
    const { touched, wake } = this;
    if (this.tuning?.isDue(at) === true) this.tuning.decide(at);
    if (this.scaler.isDue(at)) this.scaler.decide(at);
    wake.addDue(at, touched);
    do this.lookAtTouched(at);
    while (this.broker !== undefined && touched.next(0) !== NONE);
    const { gears, tuning, planner } = this;
    const again = Math.min(wake.earliest(), this.scaler.nextAt, tuning?.nextAt ?? NEVER);
    const shared = planner === undefined || this.life.pending === 0 ? NEVER : planner.nextAt;
    this.life.decided(Math.min(again, shared, gears?.nextAt ?? NEVER));
  }

  /**
   * lookAtTouched looks once at every queue that something happened to. Where batches are collected ahead, a task that is given
   * up makes room in the batches that hold others of its request, so that their queues are to be looked at again.
   */
  private lookAtTouched(at: number): void {
    const { touched, sharing } = this;
    if (sharing !== undefined) this.lookByTurns(at, sharing);
    for (let queue = touched.next(0); queue !== NONE; queue = touched.next(queue + 1)) this.look(at, queue);
  }

  /** lookByTurns looks at the queues whose devices serve several pools. A queue starts at most one batch in its turn. */
  private lookByTurns(at: number, sharing: Sharing): void {
    for (;;) {
      const queue = sharing.next(this.touched);
      if (queue === NONE) return;
      this.touched.remove(queue);
      this.isTurn = true;
      this.wake.set(queue, this.served(at, queue));
      if (!this.isTurn) sharing.started(queue);
      this.isTurn = false;
    }
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
      if (this.touched.has(queue)) this.look(at, queue);
    }
    this.delivered.length = 0;
  }

  private sendByPlace(at: number): void {
    this.ended.sort((a, b) => this.batches.device(a) - this.batches.device(b));
    for (const batch of this.ended) this.sendOn(at, batch);
    this.ended.length = 0;
  }

  private look(at: number, queue: number): void {
    this.touched.remove(queue);
    this.wake.set(queue, this.served(at, queue));
  }

  private served(at: number, queue: number): number {
    const { broker } = this;
    return broker === undefined || !broker.hasDevice(queue)
      ? this.serve(at, queue)
      : this.serveAhead(at, queue, broker);
  }

  /** serveAhead lets the broker serve a queue, and then the background where its device has nothing else to do. */
  private serveAhead(at: number, queue: number, broker: RequestBroker): number {
    const again = broker.serve(at, queue);
    for (let late = this.background.first(queue); late !== NONE; late = this.background.first(queue)) {
      const dropTime = this.background.dropTime(late);
      if (at < dropTime) {
        const device = this.placement.device(queue);
        // What a device has collected from another queue comes before.
        if (device === NONE || !broker.mayCollect(device, queue)) return Math.min(again, dropTime);
        const pool = this.placement.placeOf(queue);
        this.start(at, queue, device, this.background.batchSize(queue, pool), true);
        this.isTurn = false;
        return again;
      }
      this.life.giveUp(late, this.placement.placeOf(queue), this.placement.isUp(queue));
    }
    return again;
  }

  /**
   * serve drops, starts or waits until nothing more is to be done in a queue now.
   * @returns when to look at the queue again
   */
  private serve(at: number, queue: number): number {
    for (;;) {
      // Where queues have two ends, no device serves this one: who is given up first is at the low end.
      const head = this.queues.mostUrgent(queue);
      const late = this.background.first(queue);
      if (head === NONE && late === NONE) return NEVER;
      const device = this.placement.device(queue);
      const pool = device === NONE ? this.placement.placeOf(queue) : this.placement.poolOf(queue, device);
      const start = device === NONE ? NEVER : Math.max(at, this.placement.freeAt(device));
      const dropTime = head === NONE ? NEVER : this.dropTime(at, queue, { head, pool, start });
      const isRefused = head !== NONE && device !== NONE && this.dropping.refuses(at, start, queue, pool);
      if (at >= dropTime || isRefused) {
        if (device !== NONE) this.relaxIfUnused(at, pool, head);
        if (pool !== NONE) this.planner?.dropped(at, head, pool, at);
        this.missed(queue, head);
        continue;
      }
      const lateDropTime = this.background.dropTime(late);
      if (at >= lateDropTime) {
        this.life.giveUp(late, this.placement.placeOf(queue), this.placement.isUp(queue));
        continue;
      }
      const again = Math.min(dropTime, lateDropTime);
      if (device === NONE) return again;
      const until = head === NONE ? Math.ceil(start) : this.startOrWait(at, start, queue, device);
      if (until > at) return Math.min(until, again);
      if (head === NONE) this.start(at, queue, device, this.background.batchSize(queue, pool), true);
      if (this.isTurn) {
        this.isTurn = false;
        this.touched.add(queue);
        return NEVER;
      }
    }
  }

  /** dropTime is when a head is given up: after its deadline at the latest while nothing serves the queue, if any are. */
  private dropTime(
    at: number,
    queue: number,
    { head, pool, start }: { readonly head: number; readonly pool: number; readonly start: number },
  ): number {
    const dropTime = this.dropping.dropTime(at, head, pool, start);
    if (start !== NEVER || !this.dropping.drops || this.placement.isUp(queue)) return dropTime;
    return Math.min(dropTime, this.queues.latestEnd(head) + 1);
  }

  /**
   * startOrWait hands a batch from the head on to the device, or leaves it to wait.
   * @returns until when it waits
   */
  private startOrWait(at: number, start: number, queue: number, device: number): number {
    const pool = this.placement.poolOf(queue, device);
    // Only the queues of pools are served so where batches are formed ahead, and they have no device.
    const formation = this.formation as Formation;
    const size = formation.size(start, queue, pool);
    const until = this.life.draining ? at : formation.waitUntil(queue, pool, size);
    if (until > at) this.dropping.waitedOn(queue, this.queues.first(queue));
    else this.start(at, queue, device, Math.min(size, this.queues.size(queue)), false);
    return until;
  }

  private start(at: number, queue: number, device: number, size: number, late: boolean): void {
    const pool = this.placement.poolOf(queue, device);
    const batch = this.batches.open(pool, device);
    const picks = late ? undefined : this.formation?.picks;
    let picked =
      picks === undefined ? NONE : picks.from(Math.max(at, this.placement.freeAt(device)), queue, pool, size);
    for (let i = 0; i < size; i++) {
      const task = late
        ? this.background.first(queue)
        : picks === undefined
          ? this.queues.first(queue)
          : picked;
      if (picks !== undefined) picked = picks.after(task);
      if (late) this.background.remove(queue, task);
      else {
        this.queues.remove(queue, task);
        this.planner?.kept(at, task, pool, at);
      }
      this.life.putInBatch(batch, task);
    }
    this.hand(at, queue, device, batch);
  }

  /** startCollected hands what is collected of a queue to its device. */
  private startCollected(at: number, queue: number, device: number): void {
    const batch = this.batches.open(this.placement.placeOf(queue), device);
    for (let task = this.collected.first(queue); task !== NONE; task = this.collected.first(queue)) {
      this.collected.remove(queue, task);
      this.requests.setCollected(task, false);
      this.life.putInBatch(batch, task);
    }
    this.hand(at, queue, device, batch);
    this.isTurn = false;
  }

  private hand(at: number, queue: number, device: number, batch: number): void {
    this.placement.handed(at, batch);
    this.placement.changed(queue);
    this.decisions.push(Decision.execute, batch, device);
  }

  /** missed keeps a task that cannot be in time for the background, or gives it up. */
  private missed(queue: number, task: number): void {
    const request = this.requests.requestOf(task);
    const model = this.requests.modelOf(request);
    const isUp = this.placement.isUp(queue);
    if (!this.requests.isMissed(request)) this.background.observe(model, true);
    this.requests.setMissed(request);
    if (isUp && !this.requests.isStrict(request) && this.background.takes(model)) {
      this.leave(queue, task);
      this.background.add(queue, task);
      this.tuning?.came(0, this.entryOr(queue), 1);
    } else this.life.giveUp(task, this.placement.placeOf(queue), isUp);
  }

  /**
   * relaxIfUnused gives a pool another chance when its own expected times have kept it from work for as long as an SLO.
   */
  private relaxIfUnused(at: number, pool: number, head: number): void {
    const unusedNs = at - this.placement.lastUseAt(pool);
    if (unusedNs < (this.columns.poolSloNs[pool] as number)) return;
    if (!this.dropping.forbids(at, head, pool)) return;
    if (at + this.durations.plannedWorkNs(pool, 1) <= this.queues.latestEnd(head)) this.durations.relax(pool);
  }

  private enqueue(at: number, task: number): void {
    const queue = this.placement.queueOf(task);
    this.tuning?.came(at, this.entryOr(queue), 1);
    this.requests.enterQueue(task);
    if (!this.queues.insert(queue, task)) this.placement.changed(queue);
    this.dropping.entered(queue, task);
    this.touched.add(queue);
  }

  /** leave takes a task out of a queue other than into a batch. */
  private leave(queue: number, task: number): void {
    this.tuning?.came(0, this.entryOr(queue), -1);
    if (this.requests.isLate(task)) {
      this.background.remove(queue, task);
      return;
    }
    if (this.requests.isCollected(task)) {
      this.broker?.leave(queue, task);
      return;
    }
    this.queues.remove(queue, task);
    this.placement.changed(queue);
  }

  private requeue(at: number, task: number): void {
    this.placement.goOn(at, task, this.requests.poolOf(task));
    this.enqueue(at, task);
  }

  /** entryOr is the pool that a queue is before: the first, where it is before all of the first stages. */
  private entryOr(queue: number): number {
    return Math.max(0, this.placement.placeOf(queue));
  }

  private judged(request: number, inTime: boolean): void {
    if (!this.requests.isMissed(request)) this.background.observe(this.requests.modelOf(request), !inTime);
  }
}
