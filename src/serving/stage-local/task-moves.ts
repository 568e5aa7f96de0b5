import { NONE as SHARED_NONE } from '../../collections/index.js';
import type { StageLocalParts } from './parts.js';

const NONE = SHARED_NONE;

/** TaskMoves puts tasks into queues and takes them out, other than into batches, and tells the parts that count them. */
export class TaskMoves {
  private readonly life: StageLocalParts['life'];
  private readonly requests: StageLocalParts['requests'];
  private readonly queues: StageLocalParts['queues'];
  private readonly collected: StageLocalParts['collected'];
  private readonly formation: StageLocalParts['formation'];
  private readonly broker: StageLocalParts['broker'];
  private readonly planner: StageLocalParts['planner'];
  private readonly dropping: StageLocalParts['dropping'];
  private readonly placement: StageLocalParts['placement'];
  private readonly background: StageLocalParts['background'];
  private readonly tuning: StageLocalParts['tuning'];

  constructor(parts: StageLocalParts) {
    this.life = parts.life;
    this.requests = parts.requests;
    this.queues = parts.queues;
    this.collected = parts.collected;
    this.formation = parts.formation;
    this.broker = parts.broker;
    this.planner = parts.planner;
    this.dropping = parts.dropping;
    this.placement = parts.placement;
    this.background = parts.background;
    this.tuning = parts.tuning;
  }

  comesTo(at: number, task: number, pool: number): void {
    this.requests.setQueuedAt(task, at);
    this.placement.goOn(at, task, pool);
    this.cameTo(at, task);
    this.enqueue(at, task);
  }

  /** cameTo tells the planner that a task has come to its stage. */
  cameTo(at: number, task: number): void {
    const pool = this.requests.poolOf(task);
    if (pool !== NONE) this.planner?.came(at, pool);
  }

  enqueue(at: number, task: number): void {
    const queue = this.placement.queueOf(task);
    this.tuning?.came(at, this.entryOr(queue));
    this.formation?.entering?.(at, queue, task);
    this.requests.enterQueue(task);
    if (!this.queues.insert(queue, task)) this.placement.changed(queue);
    this.dropping.entered(queue, task);
    this.placement.touched.add(queue);
  }

  /** leave takes a task out of a queue other than into a batch. */
  leave(queue: number, task: number): void {
    this.tuning?.leftSince(this.entryOr(queue));
    this.takeOut(queue, task);
  }

  private takeOut(queue: number, task: number): void {
    if (this.requests.isLate(task)) {
      this.background.remove(queue, task);
      return;
    }
    if (this.requests.isCollected(task)) {
      this.broker?.leave(queue, task);
      return;
    }
    const isNext = this.queues.mostUrgent(queue) === task;
    this.queues.remove(queue, task);
    this.placement.changed(queue);
    if (isNext && this.isDueBefore(queue, task)) this.placement.touched.add(queue);
  }

  /** isDueBefore returns whether who is next in a queue may have to be given up earlier than the task that was before it. */
  private isDueBefore(queue: number, task: number): boolean {
    const next = this.queues.mostUrgent(queue);
    return next !== NONE && this.queues.latestEnd(next) < this.queues.latestEnd(task);
  }

  requeue(at: number, task: number): void {
    this.placement.goOn(at, task, this.requests.poolOf(task));
    this.enqueue(at, task);
  }

  /**
   * moveOn places all tasks of a queue again, where they can be served. Tasks in the background go with the
   * others.
   */
  moveOn(at: number, queue: number): void {
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

  /** missed keeps a task that cannot be in time for the background, or gives it up. */
  missed(queue: number, task: number): void {
    const request = this.requests.requestOf(task);
    const model = this.requests.modelOf(request);
    const isUp = this.placement.isUp(queue);
    if (!this.requests.isMissed(request)) this.background.observe(model, true);
    this.requests.setMissed(request);
    if (isUp && !this.requests.isStrict(request) && this.background.takes(model)) {
      // For the tuner it is still there.
      this.takeOut(queue, task);
      this.background.add(queue, task);
    } else this.life.giveUp(task, this.placement.placeOf(queue), isUp);
  }

  /** timedOut ends a request that has taken too long, wherever its tasks are. */
  timedOut(request: number): void {
    const task = this.requests.firstTask(request);
    const pool = this.requests.poolOf(task);
    this.judged(request, false);
    this.life.giveUp(task, pool, pool === NONE || this.placement.devicesUp(pool) > 0);
  }

  judged(request: number, inTime: boolean): void {
    if (!this.requests.isMissed(request)) this.background.observe(this.requests.modelOf(request), !inTime);
  }

  /** entryOr is the pool that a queue is before: the first, where it is before all of the first stages. */
  private entryOr(queue: number): number {
    return Math.max(0, this.placement.placeOf(queue));
  }
}
