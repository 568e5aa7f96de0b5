import { NONE as SHARED_NONE } from '../../../collections/index.js';
import { type Decisions, Decision as SharedDecision } from '../../decisions.js';
import type { PlanColumns, Requests, WaitingTasks } from '../../state/index.js';
import type { Dropping } from '../dropping/dropping.js';
import type { StatePlanner } from '../pard-state/state-planner.js';
import type { SharedState } from '../shared-state.js';
import type { ParallelStages } from './parallel-stages.js';
import type { PerDevice } from './per-device.js';

const NONE = SHARED_NONE;
const Decision = SharedDecision;

const NEVER = Number.POSITIVE_INFINITY;

/** BrokerParts is what a RequestBroker works with. */
export interface BrokerParts {
  readonly placement: PerDevice;
  readonly dropping: Dropping;
  readonly decisions: Decisions;
  readonly parallel: ParallelStages;
  /** isShared says whether devices serve several pools: their queues then take turns. */
  readonly isShared: boolean;
}

/** BrokerHooks is what a RequestBroker asks of the scheduler. */
export interface BrokerHooks {
  /** giveUp takes a task that waits out of its queue, since it cannot be in time. */
  giveUp(queue: number, task: number): void;
  /** relax gives a pool another chance whose device is idle, where its expected times keep it from work. */
  relax(at: number, pool: number, head: number, device: number): void;
  /** start hands what is collected of a queue to its device, which is idle. */
  start(at: number, queue: number, device: number): void;
}

/**
 * RequestBroker collects the batches of devices ahead (PARD §4.2). While a device executes one batch, its
 * next one is collected from its queue, task by task, until it is full. A task is decided when it is first in
 * the queue and the batch has room: it is collected, or it is given up by the drop rule, by when the batch is
 * expected to begin. The batch that was collected begins when the device is free, and at once where the
 * device is idle. A device of several pools collects for one of them at a time.
 */
export class RequestBroker {
  private readonly columns: PlanColumns;
  private readonly requests: Requests;
  private readonly queues: WaitingTasks;
  private readonly collected: SharedState['collected'];
  private readonly planner: StatePlanner | undefined;
  private readonly idleWaits: boolean;
  /** The queue that each device collects from, NONE where it has collected nothing. */
  private readonly collects: Int32Array;

  constructor(
    { topology, columns, requests, queues, collected, planner, readings }: SharedState,
    private readonly parts: BrokerParts,
    private readonly hooks: BrokerHooks,
  ) {
    this.columns = columns;
    this.requests = requests;
    this.queues = queues;
    this.collected = collected;
    this.planner = planner;
    this.idleWaits = readings?.idleWaits === true;
    this.collects = new Int32Array(topology.devices.length).fill(NONE);
  }

  /** hasDevice returns whether a queue is of a device, and not where tasks wait for one. */
  hasDevice(queue: number): boolean {
    return this.parts.placement.deviceOf(queue) !== NONE;
  }

  /**
   * serve collects, gives up and starts until nothing more is to be done in a queue now.
   * @returns when to look at the queue again
   */
  serve(at: number, queue: number): number {
    const { placement, isShared } = this.parts;
    const device = placement.deviceOf(queue);
    const pool = placement.placeOf(queue);
    for (;;) {
      const until = this.idleWaits ? this.waitsUntil(at, queue, pool, device) : at;
      if (until > at) return Math.min(until, this.giveUpUrgent(at, queue, pool, device));
      if (this.mayCollect(device, queue)) this.collect(at, queue, pool, device);
      if (this.collected.size(queue) === 0 || placement.device(queue) === NONE) break;
      this.hooks.start(at, queue, device);
      this.collects[device] = NONE;
      if (!isShared) continue;
      placement.eachQueueOf(device, (other) => placement.touched.add(other));
      break;
    }
    return this.giveUpUrgent(at, queue, pool, device);
  }

  /** waitsUntil is until when an idle device that has collected nothing waits for a planned batch, by `idleWaits`. */
  private waitsUntil(at: number, queue: number, pool: number, device: number): number {
    const urgent = this.queues.mostUrgent(queue);
    if (urgent === NONE || this.planner === undefined || this.collected.size(queue) > 0) return at;
    if (this.parts.placement.device(queue) === NONE) return at;
    if (this.queues.size(queue) >= (this.columns.batch[pool] as number)) return at;
    const neededNs = this.planner.durationNs(pool, device) + this.planner.laterNs(at, pool);
    return Math.floor(this.queues.latestEnd(urgent) - neededNs);
  }

  /** mayCollect returns whether a device collects from this queue, or from none. */
  mayCollect(device: number, queue: number): boolean {
    const from = this.collects[device] as number;
    return from === NONE || from === queue;
  }

  /** collect decides the first tasks of a queue, until the next batch of its device is full or no task waits. */
  private collect(at: number, queue: number, pool: number, device: number): void {
    const { placement, dropping } = this.parts;
    const start = Math.max(at, placement.freeAt(device));
    while (this.hasRoom(queue, pool)) {
      const head = this.queues.first(queue);
      if (head === NONE || (this.queues.isAlone(head) && this.collected.size(queue) > 0)) return;
      if (
        dropping.refuses(at, start, queue, pool, device) ||
        at >= dropping.dropTime(at, head, pool, start, device)
      ) {
        if (placement.device(queue) !== NONE) this.hooks.relax(at, pool, head, device);
        this.planner?.dropped(at, head, pool, start, device);
        this.hooks.giveUp(queue, head);
        continue;
      }
      this.planner?.kept(at, head, pool, start, device);
      this.queues.remove(queue, head);
      this.requests.setCollected(head, true);
      this.collected.push(queue, head);
      this.parts.parallel.collected(head);
      this.collects[device] = queue;
      this.parts.decisions.push(Decision.collect, head, pool);
    }
  }

  private hasRoom(queue: number, pool: number): boolean {
    const size = this.collected.size(queue);
    if (size === 0) return true;
    return size < (this.columns.batch[pool] as number) && !this.queues.isAlone(this.collected.first(queue));
  }

  /**
   * giveUpUrgent gives up the tasks that are certain to be too late, wherever they stand in the queue.
   * @returns when the next one is
   */
  private giveUpUrgent(at: number, queue: number, pool: number, device: number): number {
    for (;;) {
      const task = this.queues.mostUrgent(queue);
      if (task === NONE) return NEVER;
      const lostAt = this.parts.dropping.dropTime(at, task, pool, NEVER, device);
      if (at < lostAt) return lostAt;
      this.hooks.giveUp(queue, task);
    }
  }

  /** leave takes a task out of what is collected, which makes room for another. */
  leave(queue: number, task: number): void {
    this.requests.setCollected(task, false);
    this.collected.remove(queue, task);
    const { placement } = this.parts;
    placement.touched.add(queue);
    if (this.collected.size(queue) > 0) return;
    const device = placement.deviceOf(queue);
    this.collects[device] = NONE;
    placement.eachQueueOf(device, (other) => placement.touched.add(other));
  }
}
