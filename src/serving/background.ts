import { Lists, NONE } from './lists.js';
import type { LateRule } from './policy.js';
import type { Requests } from './requests.js';
import type { Topology } from './topology.js';

/** Tasks that will be late and are answered all the same, where a device has nothing else to do (LateRule). */
export class Background {
  /** Per pool, in the order they were given up. */
  private readonly waiting: Lists;
  /** Per model the share of its last requests that were not in time. */
  private readonly missedShare: Float64Array;

  constructor(
    private readonly rule: LateRule,
    private readonly topology: Topology,
    private readonly requests: Requests,
  ) {
    this.waiting = new Lists(topology.pools.length);
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

  add(pool: number, task: number): void {
    this.requests.late[task] = 1;
    this.waiting.push(pool, task);
  }

  remove(pool: number, task: number): void {
    this.requests.late[task] = 0;
    this.waiting.remove(pool, task);
  }

  /** The task that has waited longest, NONE where none waits. */
  first(pool: number): number {
    return this.waiting.first(pool);
  }

  /** A batch of those that have waited longest; one that was in a failed batch is tried alone. */
  batchSize(pool: number): number {
    const most = Math.min(this.topology.pools[pool]?.batch as number, this.waiting.size(pool));
    let task = this.first(pool);
    for (let size = 0; size < most; size++, task = this.waiting.next(task)) {
      if ((this.requests.tries[task] as number) > 0) return Math.max(1, size);
    }
    return most;
  }

  /** The first instant at which a waiting task is given up for good; never where there is none. */
  dropTime(pool: number, task: number): number {
    if (task === NONE || this.rule.kind === 'drop') return Number.POSITIVE_INFINITY;
    const { sloNs } = this.topology.models[this.topology.pools[pool]?.model as number] as { sloNs: number };
    const deadline = this.requests.deadline[this.requests.request[task] as number] as number;
    return Math.floor(deadline + this.rule.patience * sloNs) + 1;
  }
}
