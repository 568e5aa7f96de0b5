import { NONE as SHARED_NONE } from '../../../collections/index.js';
import type { Gears } from '../scaling/gears.js';
import { ByDeadline, type Dropping, type DroppingState, hopelessAt } from './drop-rule.js';
import { GearLimits } from './gear-limits.js';

const NONE = SHARED_NONE;

/** droppingByGear makes the Dropping of the rule gear. */
export function droppingByGear(state: DroppingState, gears: Gears): Dropping {
  return new ByGear(state, gears);
}

/**
 * ByGear gives up what would be late whatever its model says of it, and what has no time while more waits than the gear in
 * force serves: gear. The slack before deadlines counts in the second case alone, where requests would else be answered at the
 * last moment one after another; within the load of the plan it would cost requests that can be in time.
 */
class ByGear extends ByDeadline {
  private readonly limits: GearLimits;
  private readonly queues: DroppingState['queues'];
  private readonly requests: DroppingState['requests'];
  private readonly durations: DroppingState['durations'];

  constructor(
    { topology, queues, requests, durations }: DroppingState,
    private readonly gears: Gears,
  ) {
    super();
    this.limits = new GearLimits(topology, gears.table);
    this.queues = queues;
    this.requests = requests;
    this.durations = durations;
  }

  dropTime(_at: number, head: number, pool: number, _start: number, device = NONE): number {
    const deadline = this.requests.deadlineOfTask(head);
    return pool === NONE
      ? deadline + 1
      : hopelessAt(deadline, this.durations.executionNs(pool, this.limits.soonestSize(pool), device));
  }

  override refuses(_at: number, start: number, queue: number, pool: number, device = NONE): boolean {
    const { gears, limits } = this;
    const batch = this.mostInBatch(pool);
    if (this.queues.size(queue) <= batch) return false;
    const head = this.queues.first(queue);
    if (this.queues.isAlone(head)) return false;
    const end = start + this.durations.executionNs(pool, batch, device);
    return limits.isBeyond(gears.current, gears.waiting)
      ? end + limits.keptNs(gears.current, pool) > this.queues.latestEnd(head)
      : end > this.requests.deadlineOfTask(head);
  }

  mostInBatch(pool: number): number {
    return this.limits.batch(this.gears.current, pool);
  }

  override batchUnderLoad(pool: number, more: number): number {
    return Math.max(1, Math.min(this.mostInBatch(pool), this.queues.size(pool) + more));
  }
}
