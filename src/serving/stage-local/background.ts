import { Lists, NONE } from '../../collections/index.js';
import type { Requests } from '../state/index.js';
import type { Topology } from '../topology.js';
import type { LateRule } from './policy.js';

/** Tasks that will be late and are answered all the same, where a device has nothing else to do (LateRule). */
export class Background {
  /** Per queue, in the order they were given up. */
  private readonly waiting: Lists;
  /** Per model the share of its last requests that were not in time. */
  private readonly missedShare: Float64Array;

  constructor(
    private readonly rule: LateRule,
    private readonly topology: Topology,
    private readonly requests: Requests,
    queues: number,
  ) {
    this.waiting = new Lists(queues);
    this.missedShare = new Float64Array(topology.models.length);
  }

  /** Whether a task that cannot be in time is worth keeping: its model is not overloaded. */
  takes(model: number): boolean {
    return this.rule.kind === 'background' && (this.missedShare[model] as number) <= this.rule.mostMissed;
  }

  /** A request of the model was in time, or is known not to be. Told once of each. */
  observe(model: number, missed: boolean): void {
    if (this.rule.kind === 'drop') return;
    const share = this.missedShare[model] as number;
    this.missedShare[model] = share + ((missed ? 1 : 0) - share) / this.rule.window;
  }

  add(queue: number, task: number): void {
    this.requests.setLate(task, true);
    this.waiting.push(queue, task);
  }

  remove(queue: number, task: number): void {
    this.requests.setLate(task, false);
    this.waiting.remove(queue, task);
  }

  /** The task that has waited longest, NONE where none waits. */
  first(queue: number): number {
    return this.waiting.first(queue);
  }

  /** A batch of those that have waited longest; one that was in a failed batch is tried alone. */
  batchSize(queue: number, pool: number): number {
    const most = Math.min(this.topology.pools[pool]?.batch as number, this.waiting.size(queue));
    let task = this.first(queue);
    for (let size = 0; size < most; size++, task = this.waiting.next(task)) {
      if (this.requests.triesOf(task) > 0) return Math.max(1, size);
    }
    return most;
  }

  /** The first instant at which a waiting task is given up for good; never where there is none. */
  dropTime(task: number): number {
    if (task === NONE || this.rule.kind === 'drop') return Number.POSITIVE_INFINITY;
    const request = this.requests.requestOf(task);
    const sloNs = this.topology.models[this.requests.modelOf(request)]?.sloNs as number;
    const deadline = this.requests.deadlineOf(request);
    return Math.floor(deadline + this.rule.patience * sloNs) + 1;
  }
}
