import { NONE as SHARED_NONE } from '../../collections/index.js';
import { Decision as SharedDecision } from '../decisions.js';
import type { Formation } from './forming/formation.js';
import type { StageLocalParts } from './parts.js';
import type { RequestBroker } from './placing/broker.js';
import type { QueueSet } from './placing/queue-set.js';
import type { Sharing } from './placing/sharing.js';
import type { TaskMoves } from './task-moves.js';
import { WakeTimes } from './wake-times.js';

const NONE = SHARED_NONE;
const Decision = SharedDecision;

const NEVER = Number.POSITIVE_INFINITY;

/** QueueService looks at the queues that something happened to: it drops their tasks, starts batches of them, or lets them wait. */
export class QueueService {
  private readonly life: StageLocalParts['life'];
  private readonly requests: StageLocalParts['requests'];
  private readonly batches: StageLocalParts['batches'];
  private readonly columns: StageLocalParts['columns'];
  private readonly durations: StageLocalParts['durations'];
  private readonly queues: StageLocalParts['queues'];
  private readonly collected: StageLocalParts['collected'];
  private readonly formation: StageLocalParts['formation'];
  private readonly broker: StageLocalParts['broker'];
  private readonly planner: StageLocalParts['planner'];
  private readonly dropping: StageLocalParts['dropping'];
  private readonly placement: StageLocalParts['placement'];
  private readonly background: StageLocalParts['background'];
  private readonly sharing: StageLocalParts['sharing'];
  private readonly decisions: StageLocalParts['decisions'];
  private readonly touched: QueueSet;
  /** `wake` is when each queue is looked at though nothing happens to it before. */
  private readonly wake: WakeTimes;
  /** isTurn says whether a queue is looked at that has not started the one batch of its turn. */
  private isTurn = false;

  constructor(
    parts: StageLocalParts,
    private readonly moves: TaskMoves,
  ) {
    this.life = parts.life;
    this.requests = parts.requests;
    this.batches = parts.batches;
    this.columns = parts.columns;
    this.durations = parts.durations;
    this.queues = parts.queues;
    this.collected = parts.collected;
    this.formation = parts.formation;
    this.broker = parts.broker;
    this.planner = parts.planner;
    this.dropping = parts.dropping;
    this.placement = parts.placement;
    this.background = parts.background;
    this.sharing = parts.sharing;
    this.decisions = parts.decisions;
    this.touched = parts.placement.touched;
    this.wake = new WakeTimes(parts.queues.count);
  }

  /** nextAt is when a queue is to be looked at though nothing happens before: Infinity where none is. */
  get nextAt(): number {
    return this.wake.earliest();
  }

  /**
   * lookAtTouched looks at every queue that something happened to, or whose time has come. Where batches are collected
   * ahead, a task that is given up makes room in the batches that hold others of its request, so that their queues are
   * looked at again.
   */
  lookAtTouched(at: number): void {
    const { touched, sharing } = this;
    this.wake.addDue(at, touched);
    do {
      if (sharing !== undefined) this.lookByTurns(at, sharing);
      for (let queue = touched.next(0); queue !== NONE; queue = touched.next(queue + 1)) this.look(at, queue);
    } while (this.broker !== undefined && touched.next(0) !== NONE);
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

  look(at: number, queue: number): void {
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
        // The batch that a device has collected from another queue comes before any batch of this queue.
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
      const isRefused =
        head !== NONE && device !== NONE && this.dropping.refuses(at, start, queue, pool, device);
      if (at >= dropTime || isRefused) {
        if (device !== NONE) this.relaxIfUnused(at, pool, head, device);
        if (pool !== NONE) this.planner?.dropped(at, head, pool, at, device);
        this.moves.missed(queue, head);
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

  /**
   * dropTime is when a head is given up: after its deadline at the latest while nothing serves the queue, if any are. The
   * devices of a stage share the queue, so that it is judged by the fastest class that is up.
   */
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
    const wanted = formation.size(start, queue, pool, device);
    const size = Math.min(wanted, this.dropping.mostInBatch?.(pool) ?? wanted);
    const until = this.life.draining ? at : formation.waitUntil(queue, pool, size, device);
    if (until > at) this.dropping.waitedOn(queue, this.queues.first(queue));
    else this.start(at, queue, device, Math.min(size, this.queues.size(queue)), false);
    return until;
  }

  private start(at: number, queue: number, device: number, size: number, late: boolean): void {
    const pool = this.placement.poolOf(queue, device);
    const batch = this.batches.open(pool, device);
    const picks = late ? undefined : this.formation?.picksOf?.(queue);
    const begin = Math.max(at, this.placement.freeAt(device));
    let picked = NONE;
    for (let i = 0; i < size; i++) {
      if (picks !== undefined && picked === NONE) picked = picks.from(begin, queue, pool, size - i, device);
      const task = late
        ? this.background.first(queue)
        : picks === undefined
          ? this.queues.first(queue)
          : picked;
      if (picks !== undefined) picked = picks.after?.(task) ?? NONE;
      if (late) this.background.remove(queue, task);
      else {
        this.queues.remove(queue, task);
        this.planner?.kept(at, task, pool, at, device);
      }
      this.life.putInBatch(batch, task);
    }
    this.hand(at, queue, device, batch);
  }

  /** startCollected hands what is collected of a queue to its device. */
  startCollected(at: number, queue: number, device: number): void {
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

  /**
   * relaxIfUnused gives a pool another chance when its own expected times have kept it from work for as long as an SLO.
   */
  relaxIfUnused(at: number, pool: number, head: number, device: number): void {
    const unusedNs = at - this.placement.lastUseAt(pool, device);
    if (unusedNs < (this.columns.poolSloNs[pool] as number)) return;
    if (!this.dropping.forbids(at, head, pool, device)) return;
    if (at + this.durations.plannedWorkNs(pool, 1) <= this.queues.latestEnd(head)) this.durations.relax(pool);
  }
}
