import { grownCapacity, grownColumn, NONE as SHARED_NONE } from '../../../collections/index.js';
import type { Durations, OpenBatches, PlanColumns, Requests, WaitingTasks } from '../../state/index.js';
import { DeviceMembers } from '../../state/index.js';
import { gearsOf, type Topology } from '../../topology.js';
import type { DispatchRule, PipelineChoice } from '../policy.js';
import type { SharedState } from '../shared-state.js';
import { ByPipeline } from './by-pipeline.js';
import { DISPATCHES, type Dispatch } from './dispatch.js';
import { QueueSet } from './queue-set.js';
import type { TaskPlacement } from './task-placement.js';

const NONE = SHARED_NONE;
/** Parts of a nanosecond that are distinguished. */
const PARTS = 1024;

/** PerDeviceChoices are the choices that a PerDevice is made from. */
export interface PerDeviceChoices {
  readonly choice: PipelineChoice;
  readonly dispatch: DispatchRule;
}

/** perDeviceQueues is how many queues PerDevice has: one for each device in each of its pools, and one for each pool. */
export function perDeviceQueues(topology: Topology): number {
  return new DeviceMembers(topology).count + topology.pools.length;
}

/**
 * PerDevice gives a task one of the devices of its stage as soon as it comes there, and keeps it in a queue of that device's
 * own (PARD Fig. 4). Queues are numbered as the memberships of devices in pools are (DeviceMembers). After them comes one for
 * each pool, where tasks wait while no device of the pool is up. A change takes constant time, except for the choice of a
 * device among those of a pool.
 */
export class PerDevice extends ByPipeline implements TaskPlacement {
  readonly touched: QueueSet;
  private readonly members: DeviceMembers;
  private readonly dispatch: Dispatch;
  /** The memberships of each pool whose devices are up, in the order of the devices. */
  private readonly up: number[][];
  /** The membership that was chosen last in each pool. */
  private readonly lastChosen: Int32Array;
  /** The queue of each task. */
  private queues = new Int32Array(0);
  /** entersByGear says whether gears say at which pool a request begins. */
  private readonly entersByGear: boolean;
  private readonly asPlanned: boolean;

  private readonly topology: Topology;
  private readonly columns: PlanColumns;
  private readonly requests: Requests;
  private readonly batches: OpenBatches;
  private readonly durations: Durations;
  private readonly waiting: WaitingTasks;
  private readonly collected: SharedState['collected'];

  constructor(state: SharedState, { choice, dispatch }: PerDeviceChoices) {
    super(state, choice);
    const { topology, columns, requests, batches, durations, queues, collected } = state;
    this.topology = topology;
    this.columns = columns;
    this.requests = requests;
    this.batches = batches;
    this.durations = durations;
    this.waiting = queues;
    this.collected = collected;
    this.members = new DeviceMembers(topology);
    this.dispatch = DISPATCHES[dispatch.kind]({
      workNs: (at, member) => this.workNs(at, member),
      ongoing: (member) => this.ongoing(member),
      turnNs: (member) => this.turnNs(member),
      deviceOf: this.members.deviceOf,
      streams: state.streams,
    });
    this.touched = new QueueSet(queues.count);
    this.up = topology.pools.map(() => []);
    this.lastChosen = new Int32Array(topology.pools.length).fill(NONE);
    this.asPlanned = state.readings?.runningAsPlanned === true;
    this.entersByGear = gearsOf(topology.routes) !== undefined;
  }

  queueOf(task: number): number {
    return this.queues[task] as number;
  }

  /** queueBefore is the queue of a pool in which tasks wait that have no device. */
  queueBefore(pool: number): number {
    return this.members.count + pool;
  }

  waitingBefore(pool: number): number {
    const sizeOf = (queue: number) => this.waiting.size(queue) + this.collected.size(queue);
    return (this.up[pool] as number[]).reduce(
      (sum, queue) => sum + sizeOf(queue),
      sizeOf(this.queueBefore(pool)),
    );
  }

  placeOf(queue: number): number {
    const { count } = this.members;
    return queue < count ? (this.members.poolOf[queue] as number) : queue - count;
  }

  poolOf(queue: number): number {
    return this.placeOf(queue);
  }

  changed(): void {}

  /** isTooLong is always false: which device a request would be given is not known before it comes. */
  isTooLong(): boolean {
    return false;
  }

  override begin(at: number, task: number): void {
    super.begin(at, task);
    // Gears say at once where the task goes instead.
    if (!this.entersByGear) this.give(at, task);
  }

  override goOn(at: number, task: number, pool: number): void {
    super.goOn(at, task, pool);
    this.give(at, task);
  }

  /** give puts the task before a device of the pool, or before the pool where none is up. */
  private give(at: number, task: number): void {
    const pool = this.requests.poolOf(task);
    const chosen = this.dispatch.choose(at, this.up[pool] as number[], this.lastChosen[pool] as number);
    if (chosen !== NONE) this.lastChosen[pool] = chosen;
    if (task >= this.queues.length)
      this.queues = grownColumn(this.queues, grownCapacity(this.queues.length, task + 1));
    this.queues[task] = chosen === NONE ? this.queueBefore(pool) : chosen;
  }

  /** workNs is the time that is left of the batch on a device, and that of the tasks before it at the pace of full batches. */
  private workNs(at: number, member: number): number {
    const { members, columns } = this;
    const device = members.deviceOf[member] as number;
    let ns = Math.max(0, this.freeAt(device) - at);
    for (let one = device; one !== NONE; one = members.nextOf(one)) {
      const pool = members.poolOf[one] as number;
      const batch = columns.batch[pool] as number;
      const tasks = this.waiting.size(one) + this.collected.size(one);
      ns += rounded((tasks * this.durations.executionNs(pool, batch, device)) / batch);
    }
    return ns;
  }

  /** ongoing counts the tasks that wait for a member, and those of its pool on its device whose requests have not ended. */
  private ongoing(member: number): number {
    const { members, batches, requests } = this;
    let count = this.waiting.size(member) + this.collected.size(member);
    const batch = this.runs[members.deviceOf[member] as number] as number;
    if (batch === NONE || batches.pool(batch) !== members.poolOf[member]) return count;
    for (let i = 0; i < batches.size(batch); i++)
      if (!requests.isSettled(requests.requestOf(batches.task(batch, i)))) count += 1;
    return count;
  }

  /** turnNs is how long a full batch takes on a device whose pool has several classes; 0 in other pools. */
  private turnNs(member: number): number {
    const pool = this.members.poolOf[member] as number;
    if (this.topology.pools[pool]?.classes === undefined) return 0;
    const device = this.members.deviceOf[member] as number;
    return this.durations.executionNs(pool, this.columns.batch[pool] as number, device);
  }

  device(queue: number): number {
    const device = this.deviceOf(queue);
    return device !== NONE && this.runs[device] === NONE && this.poolsUp.isDeviceUp(device) ? device : NONE;
  }

  /** deviceOf is the device that a queue is of, NONE where it is a pool's. */
  deviceOf(queue: number): number {
    return queue < this.members.count ? (this.members.deviceOf[queue] as number) : NONE;
  }

  /** eachQueueOf calls back for every queue of a device. */
  eachQueueOf(device: number, each: (queue: number) => void): void {
    for (let member = device; member !== NONE; member = this.members.nextOf(member)) each(member);
  }

  isUp(queue: number): boolean {
    return this.poolsUp.isUp(this.placeOf(queue));
  }

  handed(at: number, batch: number): void {
    const device = this.batches.device(batch);
    this.runs[device] = batch;
    const pool = this.batches.pool(batch);
    const size = this.asPlanned ? (this.columns.batch[pool] as number) : this.batches.size(batch);
    this.endAt[device] = at + this.durations.executionNs(pool, size, device);
  }

  protected override fellIdle(device: number): void {
    this.eachQueueOf(device, (queue) => this.touched.add(queue));
  }

  deviceUp(_at: number, device: number): void {
    this.poolsUp.deviceUp(device);
    this.eachQueueOf(device, (member) => {
      const up = this.up[this.members.poolOf[member] as number] as number[];
      this.dispatch.joined?.(member, up);
      up.push(member);
      up.sort((a, b) => (this.members.deviceOf[a] as number) - (this.members.deviceOf[b] as number));
      this.touched.add(member);
    });
  }

  /** joined lists the queues whose tasks have waited for a device that has come up. */
  joined(device: number): readonly number[] {
    const queues: number[] = [];
    this.eachQueueOf(device, (member) =>
      queues.push(this.queueBefore(this.members.poolOf[member] as number)),
    );
    return queues;
  }

  retire(device: number): readonly number[] {
    if (!this.poolsUp.isDeviceUp(device)) return [];
    this.poolsUp.deviceDown(device);
    this.eachQueueOf(device, (member) => {
      const up = this.up[this.members.poolOf[member] as number] as number[];
      up.splice(up.indexOf(member), 1);
    });
    return [];
  }

  /**
   * left lists the queues of the device. Where a pool has lost its last one and there is another pipeline, it lists those of
   * earlier pools too.
   */
  left(device: number): readonly number[] {
    const queues = new Set<number>();
    this.eachQueueOf(device, (member) => {
      queues.add(member);
      const pool = this.members.poolOf[member] as number;
      if (this.poolsUp.hasDevice(pool) || !this.hasOthers(pool)) return;
      for (let earlier = this.poolsUp.entryOf[pool] as number; earlier <= pool; earlier++) {
        for (const other of this.up[earlier] as number[]) queues.add(other);
        queues.add(this.queueBefore(earlier));
      }
    });
    return [...queues];
  }

  /** hasOthers returns whether there is another pipeline for the tasks of a pool. */
  private hasOthers(pool: number): boolean {
    return (this.columns.pipelines[this.topology.pools[pool]?.model as number] as number) > 1;
  }
}

/** rounded keeps parts of a nanosecond that batches divide by, so that equal work is equal however it adds up. */
function rounded(ns: number): number {
  return Math.round(ns * PARTS) / PARTS;
}
