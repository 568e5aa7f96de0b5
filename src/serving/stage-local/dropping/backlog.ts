import { NONE as SHARED_NONE } from '../../../collections/index.js';
import { DagColumns, type Durations, listsOf, type TaskQueues } from '../../state/index.js';
import { areChains, type Pool } from '../../topology.js';
import type { SharedState } from '../shared-state.js';
import type { Dropping } from './dropping.js';

const NONE = SHARED_NONE;

/**
 * Backlog estimates how soon a pool could start a task that joined its queue now. It puts the tasks before it
 * into full batches on the devices that are up, each of which is free when its batch is expected to end.
 * Tasks before it that will be too late themselves do not count.
 *
 * A walk over the queue is kept and goes on where it stopped, until something other than an arrival at the
 * end changes the pool. So an arrival takes constant time, and each batch costs one walk.
 */
export class Backlog {
  private readonly valid: Uint8Array;
  private readonly walkedTo: Int32Array;
  /** `fill` counts the tasks in the batch that is being filled. */
  private readonly fill: Int32Array;
  /** `kept` counts the tasks walked over that would be served. */
  private readonly kept: Int32Array;
  /** `free` is when each device that is up is free, per pool, and `devices` is which it is. */
  private readonly free: Float64Array[];
  private readonly devices: Int32Array[];
  private readonly freeCount: Int32Array;
  /** `earliest` is the index of the earliest in `free`, per pool. */
  private readonly earliest: Int32Array;

  private readonly pools: readonly Pool[];
  /** `next` is the stage that every task of a pool comes to next, NONE where there is none. */
  private readonly next: Int32Array;
  private readonly areChains: boolean;
  private readonly queues: TaskQueues;
  private readonly durations: Durations;

  /** @param freeAt when a device is expected to take its next batch; undefined while it is down */
  constructor(
    { topology, queues, durations }: Pick<SharedState, 'topology' | 'queues' | 'durations'>,
    private readonly dropping: Dropping,
    private readonly freeAt: (device: number) => number | undefined,
  ) {
    const { pools } = topology;
    const graph = new DagColumns(topology);
    this.pools = pools;
    this.areChains = areChains(topology.routes);
    this.next = Int32Array.from(pools, (_, pool) => graph.sureNext(pool));
    this.queues = listsOf(queues);
    this.durations = durations;
    this.valid = new Uint8Array(pools.length);
    this.walkedTo = new Int32Array(pools.length);
    this.fill = new Int32Array(pools.length);
    this.kept = new Int32Array(pools.length);
    this.free = pools.map(({ devices }) => new Float64Array(devices.length));
    this.devices = pools.map(({ devices }) => new Int32Array(devices.length));
    this.freeCount = new Int32Array(pools.length);
    this.earliest = new Int32Array(pools.length);
  }

  /** changed reports that the pool has changed otherwise than by an arrival at the end of its queue. */
  changed(pool: number): void {
    this.valid[pool] = 0;
  }

  /**
   * isTooLong returns whether a task that came now would be too late in every one of these pipelines. It is false where
   * there are none.
   * @param ahead tasks that will come before it and are in no pipeline yet; each pipeline gets its planned
   *   share of them
   */
  isTooLong(at: number, entries: readonly number[], ahead: number, latestEnd: number): boolean {
    const rateOf = (entry: number) => this.pools[entry]?.throughputRps as number;
    const planned = entries.reduce((sum, entry) => sum + rateOf(entry), 0);
    if (planned === 0) return false;
    return entries.every((entry) => {
      const end = this.earliestEnd(at, entry, Math.floor((rateOf(entry) / planned) * ahead));
      return end !== undefined && end > latestEnd;
    });
  }

  /**
   * earliestEnd is a lower bound, in nanoseconds, on the end of a task that entered the pipeline last, behind `ahead`
   * tasks more than are in it. It is undefined where the task would not wait anywhere. The bound takes the smallest
   * batch that the task is expected to be in, if as many tasks come behind it as wait before it. In a DAG it follows the
   * edges that are always taken.
   */
  private earliestEnd(at: number, entry: number, ahead: number): number | undefined {
    let before = ahead;
    let reached = at;
    let waits = false;
    const size = this.dropping.batchUnderLoad(entry, ahead + 1);
    for (let pool = entry; pool !== NONE; pool = this.next[pool] as number) {
      const start = this.startOf(at, pool, before);
      if (start > reached) waits = true;
      reached = Math.max(start, reached) + this.stepNs(pool, size);
      before += this.kept[pool] as number;
    }
    return waits ? reached : undefined;
  }

  /**
   * stepNs is the expected time of an execution here and of the transfer to the next pool, if there is one. In a DAG it
   * leaves out the transfer, whose time differs from edge to edge.
   */
  private stepNs(index: number, size: number): number {
    const { batch, classes } = this.pools[index] as Pool;
    if (classes !== undefined) return this.leastStepNs(index, Math.min(size, batch));
    if (!this.areChains) return this.durations.executionNs(index, Math.min(size, batch));
    const work = this.durations.workNs(index, Math.min(size, batch));
    const next = this.next[index] as number;
    if (next === NONE) return work;
    return work - this.durations.workNs(next, Math.min(size, batch, this.pools[next]?.batch as number));
  }

  /** leastStepNs is the same on the fastest device, as it is not known which will execute the task. */
  private leastStepNs(index: number, size: number): number {
    const leastNs = this.durations.leastStepNs(index, size);
    return this.areChains ? leastNs : leastNs - this.durations.transferNs(index, size);
  }

  private startOf(at: number, pool: number, ahead: number): number {
    if (this.valid[pool] === 0) this.reset(at, pool);
    if (this.freeCount[pool] === 0) return at;
    this.walk(pool);
    const { batch, classes } = this.pools[pool] as Pool;
    const batches = Math.floor(((this.fill[pool] as number) + ahead) / batch);
    const count = this.freeCount[pool] as number;
    // Of unlike devices, the fast ones begin a batch sooner than a round of all takes.
    const rounds =
      classes === undefined ? Math.floor(batches / count) : Math.max(0, batches + 1 - count) / count;
    return this.earliestFree(pool) + rounds * this.durations.executionNs(pool, batch);
  }

  private reset(at: number, pool: number): void {
    this.valid[pool] = 1;
    this.walkedTo[pool] = NONE;
    this.fill[pool] = 0;
    this.kept[pool] = 0;
    const free = this.free[pool] as Float64Array;
    const devices = this.devices[pool] as Int32Array;
    let count = 0;
    for (const device of (this.pools[pool] as Pool).devices) {
      const time = this.freeAt(device);
      if (time === undefined) continue;
      devices[count] = device;
      free[count++] = Math.max(at, time);
    }
    this.freeCount[pool] = count;
    this.findEarliest(pool);
  }

  /** walk goes on to the end of the queue. */
  private walk(pool: number): void {
    const { batch } = this.pools[pool] as Pool;
    const size = this.dropping.batchUnderLoad(pool, 0);
    let work = this.workNs(pool, size);
    const last = this.walkedTo[pool] as number;
    let task = last === NONE ? this.queues.first(pool) : this.queues.next(last);
    for (; task !== NONE; task = this.queues.next(task)) {
      this.walkedTo[pool] = task;
      if (this.earliestFree(pool) + work > this.queues.latestEnd(task)) continue;
      this.kept[pool]! += 1;
      this.fill[pool]! += 1;
      if (this.fill[pool] !== batch) continue;
      this.closeBatch(pool, batch);
      work = this.workNs(pool, size);
    }
  }

  /** workNs is the work of a batch on the device that is free first. */
  private workNs(pool: number, size: number): number {
    return this.durations.workNs(pool, size, this.devices[pool]?.[this.earliest[pool] as number]);
  }

  private closeBatch(pool: number, batch: number): void {
    const free = this.free[pool] as Float64Array;
    const earliest = this.earliest[pool] as number;
    free[earliest]! += this.durations.executionNs(pool, batch, this.devices[pool]?.[earliest]);
    this.fill[pool] = 0;
    this.findEarliest(pool);
  }

  private earliestFree(pool: number): number {
    return this.free[pool]?.[this.earliest[pool] as number] as number;
  }

  private findEarliest(pool: number): void {
    const free = this.free[pool] as Float64Array;
    let best = 0;
    for (let i = 1; i < (this.freeCount[pool] as number); i++) {
      if ((free[i] as number) < (free[best] as number)) best = i;
    }
    this.earliest[pool] = best;
  }
}
