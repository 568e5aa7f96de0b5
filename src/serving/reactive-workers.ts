import type { Batches } from './batches.js';
import { grownCapacity, grownColumn, must } from './columns.js';
import type { Durations } from './durations.js';
import { EarliestDevices } from './earliest-devices.js';
import { Lists, NONE } from './lists.js';
import type { Topology } from './topology.js';

/** Devices that are handed batches ahead: which is free first for a queue, and what each still has to do. */
export class ReactiveWorkers {
  private readonly devices: EarliestDevices;
  /** Batches on each device, in the order they were handed. */
  private readonly handed: Lists;
  private readonly runs: Int32Array;
  /** Per batch that is on a device what it was expected to take when it was handed, and per device the sum of that. */
  private expectedNs = new Float64Array(0);
  private readonly aheadNs: Float64Array;
  private readonly up: Uint8Array;
  /** Per pool. */
  private readonly upCount: Int32Array;
  /** Per first pool the pools of its pipeline without a device. */
  private readonly poolsDown: Int32Array;

  constructor(
    private readonly topology: Topology,
    private readonly batches: Batches,
    private readonly durations: Durations,
  ) {
    const { devices, models, pools } = topology;
    const firsts = models.map(({ entries }) => entries.flatMap((entry) => pools[entry]?.devices ?? []));
    const laters = pools.map((pool) => (pool.partition === 0 ? [] : pool.devices));
    this.devices = new EarliestDevices(devices.length, [...firsts, ...laters]);
    this.handed = new Lists(devices.length);
    this.runs = new Int32Array(devices.length).fill(NONE);
    this.aheadNs = new Float64Array(devices.length);
    this.up = new Uint8Array(devices.length);
    this.upCount = new Int32Array(pools.length);
    this.poolsDown = new Int32Array(pools.length);
    pools.forEach(({ partition }, pool) => {
      this.poolsDown[pool - partition]! += 1;
    });
  }

  /** The device that takes a queue's next batch; NONE where there is none. */
  first(queue: number): number {
    return this.devices.first(queue);
  }

  /** End of all work given to the device; in the past where it is idle. */
  freeAt(device: number): number {
    return this.devices.free[device] as number;
  }

  /** The batch that runs on the device, NONE where none does. */
  running(device: number): number {
    return this.runs[device] as number;
  }

  hasDevice(pool: number): boolean {
    return (this.upCount[pool] as number) > 0;
  }

  hand(at: number, batch: number): void {
    const device = this.batches.device(batch);
    const takesNs = this.durations.executionNs(this.batches.pool(batch), this.batches.size(batch));
    if (batch >= this.expectedNs.length)
      this.expectedNs = grownColumn(this.expectedNs, grownCapacity(this.expectedNs.length, batch + 1));
    this.expectedNs[batch] = takesNs;
    this.aheadNs[device]! += takesNs;
    this.handed.push(device, batch);
    this.devices.setFree(device, Math.max(at, this.freeAt(device)) + takesNs);
  }

  started(batch: number): void {
    const device = this.batches.device(batch);
    must(this.handed.first(device) === batch, 'a device began a batch that was not its next');
    this.runs[device] = batch;
  }

  /** The batch has ended or failed. */
  ended(batch: number): void {
    const device = this.batches.device(batch);
    must(this.runs[device] === batch, 'a batch ended that was not on its device');
    this.runs[device] = NONE;
    this.aheadNs[device]! -= this.expectedNs[batch] as number;
    this.handed.remove(device, batch);
  }

  /** All that is still to be done on the device begins now; @returns whether that changes when it is free */
  correct(device: number, at: number): boolean {
    const free = at + (this.aheadNs[device] as number);
    if (free === this.freeAt(device)) return false;
    this.devices.setFree(device, free);
    return true;
  }

  deviceUp(at: number, device: number): void {
    must(this.up[device] === 0, 'a device came up that is up');
    const pool = this.topology.devices[device]?.pool as number;
    this.up[device] = 1;
    this.upCount[pool]! += 1;
    this.devices.setFree(device, at);
    if (this.upCount[pool] === 1) this.poolsDown[this.entryOf(pool)]! -= 1;
    this.refresh(pool, device);
  }

  /** @returns the batches that were on the device, in order */
  deviceDown(device: number): number[] {
    if (this.up[device] === 0) return [];
    const pool = this.topology.devices[device]?.pool as number;
    this.up[device] = 0;
    this.upCount[pool]! -= 1;
    this.runs[device] = NONE;
    this.aheadNs[device] = 0;
    if (this.upCount[pool] === 0) this.poolsDown[this.entryOf(pool)]! += 1;
    this.refresh(pool, device);
    const lost: number[] = [];
    for (let batch = this.handed.first(device); batch !== NONE; batch = this.handed.first(device)) {
      this.handed.remove(device, batch);
      lost.push(batch);
    }
    return lost;
  }

  /** A device has come or gone: it is used or not, and with it, where it was its pool's only one, its pipeline's first devices. */
  private refresh(pool: number, device: number): void {
    const entry = this.entryOf(pool);
    this.devices.setUsable(device, this.isUsable(device));
    if ((this.upCount[pool] as number) > 1) return;
    for (const first of this.topology.pools[entry]?.devices ?? [])
      this.devices.setUsable(first, this.isUsable(first));
  }

  /** A first device serves only if every later stage of its pipeline does. */
  private isUsable(device: number): boolean {
    const pool = this.topology.devices[device]?.pool as number;
    if (this.up[device] === 0) return false;
    return this.topology.pools[pool]?.partition !== 0 || this.poolsDown[pool] === 0;
  }

  private entryOf(pool: number): number {
    return pool - (this.topology.pools[pool]?.partition as number);
  }
}
