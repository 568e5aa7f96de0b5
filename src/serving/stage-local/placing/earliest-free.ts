import { grownCapacity, grownColumn, Lists, NONE as SHARED_NONE } from '../../../collections/index.js';
import { stageIndex } from '../../../formats/index.js';
import { must } from '../../broken-promise.js';
import type { Durations, OpenBatches, Requests, WaitingTasks } from '../../state/index.js';
import { PoolsUp } from '../../state/index.js';
import { gearsOf, poolsServedBy, sharingFirst, type Topology, type VirtualDevice } from '../../topology.js';
import type { SharedState } from '../shared-state.js';
import { EarliestDevices } from './earliest-devices.js';
import { QueueSet } from './queue-set.js';
import type { TaskPlacement } from './task-placement.js';

const NONE = SHARED_NONE;

/** EarliestFreeState is what an EarliestFree works on. */
export type EarliestFreeState = Pick<
  SharedState,
  'topology' | 'requests' | 'batches' | 'queues' | 'durations'
>;

/**
 * EarliestFree hands batches ahead to the device that is free first. There is one queue per model before all its first
 * stages, numbered by model (of models that share them, by the first), and then one before every pool (those of entries
 * stay empty). Where gears say at which pool a request begins, no queue of a model is used. A change costs time
 * logarithmic in a queue's devices.
 */
export class EarliestFree implements TaskPlacement {
  readonly touched: QueueSet;
  private readonly models: number;
  /** `sharing` is the model whose queue the requests of each model wait in. */
  private readonly sharing: Int32Array;
  private readonly poolsUp: PoolsUp;
  private readonly devices: EarliestDevices;
  /** `waiting` holds the batches on each device, in the order they were handed over. */
  private readonly waiting: Lists;
  /** The queue in which the tasks of each pool wait: that of its model where requests begin at the pool, else its own. */
  private readonly queueAt: Int32Array;
  /** `runs` is the batch that each device runs, NONE where it runs none. */
  private readonly runs: Int32Array;
  /**
   * `expectedNs` is what each batch was expected to take when it was handed over; `aheadNs` is the sum of
   * these for each device.
   */
  private expectedNs = new Float64Array(0);
  private readonly aheadNs: Float64Array;
  /** `lastUse` is when each pool was last handed a batch. */
  private readonly lastUse: Float64Array;

  private readonly topology: Topology;
  private readonly requests: Requests;
  private readonly batches: OpenBatches;
  private readonly queued: WaitingTasks;
  private readonly durations: Durations;

  /** @param corrects whether the times at which devices are free follow what happened */
  constructor(
    { topology, requests, batches, queues, durations }: EarliestFreeState,
    private readonly corrects: boolean,
  ) {
    const { devices, models, pools } = topology;
    this.topology = topology;
    // Where gears say at which pool a request begins, each pool has a queue of its own.
    const entersByGear = gearsOf(topology.routes) !== undefined;
    this.queueAt = Int32Array.from(pools, ({ model, stage }, pool) =>
      stageIndex(stage) === 0 && !entersByGear ? model : models.length + pool,
    );
    this.requests = requests;
    this.batches = batches;
    this.queued = queues;
    this.durations = durations;
    this.sharing = sharingFirst(topology);
    const firsts = models.map(({ entries }, model) => [
      ...new Set(
        this.sharing[model] === model ? entries.flatMap((entry) => pools[entry]?.devices ?? []) : [],
      ),
    ]);
    const laters = pools.map((pool, index) => (this.queueAt[index] === pool.model ? [] : pool.devices));
    this.models = models.length;
    this.touched = new QueueSet(models.length + pools.length);
    this.poolsUp = new PoolsUp(topology);
    this.devices = new EarliestDevices(devices.length, [...firsts, ...laters]);
    this.waiting = new Lists(devices.length);
    this.runs = new Int32Array(devices.length).fill(NONE);
    this.aheadNs = new Float64Array(devices.length);
    this.lastUse = new Float64Array(pools.length);
  }

  queueOf(task: number): number {
    const pool = this.requests.poolOf(task);
    if (pool !== NONE) return this.queueBefore(pool);
    return this.sharing[this.requests.modelOf(this.requests.requestOf(task))] as number;
  }

  queueBefore(pool: number): number {
    return this.models + pool;
  }

  waitingBefore(pool: number): number {
    return this.queued.size(this.queueBefore(pool));
  }

  placeOf(queue: number): number {
    return queue < this.models ? NONE : queue - this.models;
  }

  poolOf(queue: number, device: number): number {
    if (queue >= this.models) return queue - this.models;
    const { pool, otherPools } = this.topology.devices[device] as VirtualDevice;
    if (otherPools === undefined) return pool;
    const entries = this.topology.models[queue]?.entries as number[];
    return entries.find((entry) => entry === pool || otherPools.includes(entry)) as number;
  }

  changed(): void {}

  /** isTooLong is always false, since a stage knows only its own queue. */
  isTooLong(): boolean {
    return false;
  }

  begin(_at: number, task: number): void {
    this.requests.setPool(task, NONE);
  }

  /**
   * goOn lets the task wait for the pool, or begin again from the entry where no device of the pool is up. In a DAG it
   * waits: its row may be at other stages too.
   */
  goOn(_at: number, task: number, pool: number): void {
    const waits = this.requests.flowOf(task) !== NONE || (pool !== NONE && this.poolsUp.hasDevice(pool));
    this.requests.setPool(task, waits ? pool : NONE);
  }

  branched(): void {}

  ended(): void {}

  device(queue: number): number {
    return this.devices.first(queue);
  }

  freeAt(device: number): number {
    return this.devices.free[device] as number;
  }

  isUp(queue: number): boolean {
    return this.device(queue) !== NONE;
  }

  lastUseAt(pool: number): number {
    return this.lastUse[pool] as number;
  }

  handed(at: number, batch: number): void {
    const pool = this.batches.pool(batch);
    const device = this.batches.device(batch);
    const takesNs = this.durations.executionNs(pool, this.batches.size(batch), device);
    if (batch >= this.expectedNs.length)
      this.expectedNs = grownColumn(this.expectedNs, grownCapacity(this.expectedNs.length, batch + 1));
    this.expectedNs[batch] = takesNs;
    this.aheadNs[device]! += takesNs;
    this.lastUse[pool] = at;
    this.waiting.push(device, batch);
    this.devices.setFree(device, Math.max(at, this.freeAt(device)) + takesNs);
  }

  started(at: number, batch: number): void {
    const device = this.batches.device(batch);
    must(this.waiting.first(device) === batch, 'a device began a batch that was not its next');
    this.runs[device] = batch;
    this.correct(at, batch);
  }

  executed(_at: number, batch: number, endedAt: number): void {
    this.fellFree(endedAt, batch);
  }

  failed(at: number, batch: number): void {
    this.fellFree(at, batch);
  }

  private fellFree(at: number, batch: number): void {
    const device = this.batches.device(batch);
    must(this.runs[device] === batch, 'a batch ended that was not on its device');
    this.runs[device] = NONE;
    this.aheadNs[device]! -= this.expectedNs[batch] as number;
    this.waiting.remove(device, batch);
    this.correct(at, batch);
  }

  /**
   * correct expects the device of the batch to do all that it has still to do from now on, without a pause.
   */
  private correct(at: number, batch: number): void {
    if (!this.corrects) return;
    const device = this.batches.device(batch);
    const free = at + (this.aheadNs[device] as number);
    if (free === this.freeAt(device)) return;
    this.devices.setFree(device, free);
    for (const pool of poolsServedBy(this.topology.devices[device] as VirtualDevice)) this.touchBefore(pool);
  }

  private touchBefore(index: number): void {
    this.touched.add(this.queueAt[index] as number);
  }

  isDeviceUp(device: number): boolean {
    return this.poolsUp.isDeviceUp(device);
  }

  deviceUp(at: number, device: number): void {
    this.devices.setFree(device, at);
    this.refresh(device, this.poolsUp.deviceUp(device));
    this.touched.addAll();
  }

  running(device: number): number {
    return this.runs[device] as number;
  }

  deviceDown(device: number): readonly number[] {
    this.takeOut(device);
    this.runs[device] = NONE;
    this.aheadNs[device] = 0;
    return this.waiting.takeAll(device);
  }

  retire(device: number): readonly number[] {
    this.takeOut(device);
    const running = this.runs[device] as number;
    const handed = this.waiting.takeAll(device).filter((batch) => batch !== running);
    if (running !== NONE) this.waiting.push(device, running);
    this.aheadNs[device] = running === NONE ? 0 : (this.expectedNs[running] as number);
    return handed;
  }

  private takeOut(device: number): void {
    if (this.poolsUp.isDeviceUp(device)) this.refresh(device, this.poolsUp.deviceDown(device));
    this.touched.addAll();
  }

  left(device: number): readonly number[] {
    return poolsServedBy(this.topology.devices[device] as VirtualDevice)
      .filter((pool) => !this.poolsUp.hasDevice(pool))
      .map((pool) => this.queueBefore(pool));
  }

  joined(): readonly number[] {
    return [];
  }

  devicesUp(pool: number): number {
    return this.poolsUp.devicesIn(pool);
  }

  /**
   * refresh updates whether the device is used. Where the device is the only one of a pool, the pipeline comes up or
   * goes down with it, and so the devices of the pipeline's first stage are updated too.
   */
  private refresh(device: number, isOnly: boolean): void {
    this.update(device);
    if (!isOnly) return;
    for (const pool of poolsServedBy(this.topology.devices[device] as VirtualDevice)) {
      const entry = this.poolsUp.entryOf[pool] as number;
      for (const first of this.topology.pools[entry]?.devices ?? []) this.update(first);
    }
  }

  /**
   * update hears whether a device takes work: for a first stage it does only while every later stage of the pipeline
   * has a device.
   */
  private update(device: number): void {
    const isUp = this.poolsUp.isDeviceUp(device);
    for (const pool of poolsServedBy(this.topology.devices[device] as VirtualDevice)) {
      const queue = this.queueAt[pool] as number;
      const isUsable = isUp && (queue >= this.models || this.poolsUp.isUp(pool));
      this.devices.setUsable(device, isUsable, queue);
    }
  }
}
