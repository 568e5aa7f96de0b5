import { Lists, NONE as SHARED_NONE } from '../../../collections/index.js';
import type { Durations, OpenBatches, Requests } from '../../state/index.js';
import { DeviceMembers } from '../../state/index.js';
import { gearsOf, type Pool, type Topology } from '../../topology.js';
import { Backlog } from '../dropping/backlog.js';
import type { Dropping } from '../dropping/dropping.js';
import type { PipelineChoice } from '../policy.js';
import type { SharedState } from '../shared-state.js';
import { ByPipeline } from './by-pipeline.js';
import { LoadShares } from './load-shares.js';
import { QueueSet } from './queue-set.js';
import type { TaskPlacement } from './task-placement.js';

const NONE = SHARED_NONE;

/** OnArrivalState is what an OnArrival works on. */
export type OnArrivalState = Pick<
  SharedState,
  'topology' | 'columns' | 'requests' | 'batches' | 'queues' | 'durations' | 'gears'
>;

/**
 * OnArrival gives a task its pipeline when it comes. There is one queue per pool, and idle devices take one
 * batch at a time. A change takes constant time.
 */
export class OnArrival extends ByPipeline implements TaskPlacement {
  readonly touched: QueueSet;
  private readonly backlog: Backlog;
  private readonly members: DeviceMembers;
  /** `idle` holds the memberships of the idle devices of each pool, in the order in which the devices fell idle. */
  private readonly idle: Lists;
  /** `shares` divides tasks among devices as gears plan; it is absent where the plan has no gears. */
  private readonly shares: LoadShares | undefined;

  private readonly topology: Topology;
  private readonly columns: SharedState['columns'];
  private readonly requests: Requests;
  private readonly batches: OpenBatches;
  private readonly waiting: SharedState['queues'];
  private readonly gears: SharedState['gears'];
  private readonly durations: Durations;

  constructor(state: OnArrivalState, choice: PipelineChoice, dropping: Dropping) {
    const { topology, requests, batches, durations } = state;
    const { pools, routes } = topology;
    super(state, choice);
    const table = gearsOf(routes);
    this.topology = topology;
    this.columns = state.columns;
    this.requests = requests;
    this.batches = batches;
    this.durations = durations;
    this.touched = new QueueSet(pools.length);
    this.members = new DeviceMembers(topology);
    this.backlog = new Backlog(state, dropping, (device) =>
      this.poolsUp.isDeviceUp(device) ? this.freeAt(device) : undefined,
    );
    this.idle = new Lists(pools.length);
    this.waiting = state.queues;
    this.gears = state.gears;
    this.shares = table && state.gears && new LoadShares(topology, table, state.gears);
  }

  queueOf(task: number): number {
    return this.requests.poolOf(task);
  }

  queueBefore(pool: number): number {
    return pool;
  }

  waitingBefore(pool: number): number {
    return this.waiting.size(pool);
  }

  placeOf(queue: number): number {
    return queue;
  }

  poolOf(queue: number): number {
    return queue;
  }

  changed(queue: number): void {
    this.backlog.changed(queue);
  }

  isTooLong(at: number, model: number, latestEnd: number, ahead: number): boolean {
    if (this.columns.mayOvertake[model] === 1) return false;
    // A gear begins with a model of its own.
    const entries =
      this.gears === undefined ? (this.topology.models[model]?.entries as number[]) : [this.gears.entry];
    const up = entries.filter((entry) => this.poolsUp.isUp(entry));
    return this.backlog.isTooLong(at, up, ahead, latestEnd);
  }

  /**
   * device is the device that has been idle longest, of unlike ones the fastest of those that are idle, or the one that is
   * furthest behind its share under gears.
   */
  device(queue: number): number {
    const { members, shares } = this;
    const member =
      shares === undefined ? this.firstIdle(queue) : shares.next(queue, this.idle, members.deviceOf);
    return member === NONE ? NONE : (members.deviceOf[member] as number);
  }

  private firstIdle(pool: number): number {
    const { idle, members, durations } = this;
    let best = idle.first(pool);
    const { classes, batch } = this.topology.pools[pool] as Pool;
    if (classes === undefined || best === NONE) return best;
    let leastNs = Number.POSITIVE_INFINITY;
    for (let member = best; member !== NONE; member = idle.next(member)) {
      const ns = durations.executionNs(pool, batch, members.deviceOf[member]);
      if (ns >= leastNs) continue;
      best = member;
      leastNs = ns;
    }
    return best;
  }

  isUp(queue: number): boolean {
    return this.poolsUp.isUp(queue);
  }

  handed(at: number, batch: number): void {
    const pool = this.batches.pool(batch);
    const device = this.batches.device(batch);
    this.leavesIdle(device);
    this.shares?.handed(pool, device, this.batches.size(batch));
    this.runs[device] = batch;
    this.endAt[device] = at + this.durations.executionNs(pool, this.batches.size(batch), device);
    this.backlog.changed(pool);
  }

  protected override fellIdle(device: number): void {
    if (!this.poolsUp.isDeviceUp(device)) return;
    const { members } = this;
    for (let member = device; member !== NONE; member = members.nextOf(member)) {
      const pool = members.poolOf[member] as number;
      this.idle.push(pool, member);
      this.devicesChanged(pool);
    }
  }

  private leavesIdle(device: number): void {
    const { members } = this;
    for (let member = device; member !== NONE; member = members.nextOf(member))
      this.idle.remove(members.poolOf[member] as number, member);
  }

  private devicesChanged(pool: number): void {
    this.touched.add(pool);
    this.backlog.changed(pool);
  }

  deviceUp(_at: number, device: number): void {
    this.poolsUp.deviceUp(device);
    this.shares?.restart();
    this.fellIdle(device);
  }

  retire(device: number): readonly number[] {
    const { members, poolsUp } = this;
    if (!poolsUp.isDeviceUp(device)) return [];
    poolsUp.deviceDown(device);
    if (this.runs[device] === NONE) this.leavesIdle(device);
    for (let member = device; member !== NONE; member = members.nextOf(member))
      this.devicesChanged(members.poolOf[member] as number);
    return [];
  }

  /**
   * left gives the queue of each pool that has lost its last device, and those of all earlier pools of its
   * pipeline.
   */
  left(device: number): readonly number[] {
    const queues: number[] = [];
    for (let member = device; member !== NONE; member = this.members.nextOf(member)) {
      const pool = this.members.poolOf[member] as number;
      if (this.poolsUp.hasDevice(pool)) continue;
      for (let earlier = this.poolsUp.entryOf[pool] as number; earlier <= pool; earlier++)
        queues.push(earlier);
    }
    return queues;
  }

  joined(): readonly number[] {
    return [];
  }
}
