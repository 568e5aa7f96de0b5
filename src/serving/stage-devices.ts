import { must } from './columns.js';
import { Lists, NONE } from './lists.js';
import type { Topology } from './topology.js';

/** Devices that are handed one batch at a time: which of a pool are idle, what the others run and until when. Constant per change. */
export class StageDevices {
  /** Per pool, in the order they fell idle. */
  private readonly idle: Lists;
  /** Batch on each device, NONE where idle or down. */
  private readonly running: Int32Array;
  private readonly up: Uint8Array;
  /** When the batch on each device is expected to end. */
  private readonly endAt: Float64Array;
  /** When a pool's last execution ended. */
  private readonly lastUse: Float64Array;

  constructor(private readonly topology: Topology) {
    const { devices, pools } = topology;
    this.idle = new Lists(pools.length);
    this.running = new Int32Array(devices.length).fill(NONE);
    this.up = new Uint8Array(devices.length);
    this.endAt = new Float64Array(devices.length);
    this.lastUse = new Float64Array(pools.length);
  }

  isUp(device: number): boolean {
    return this.up[device] === 1;
  }

  hasIdle(pool: number): boolean {
    return this.idle.size(pool) > 0;
  }

  /** The device of a pool that has been idle longest, NONE where none is. */
  firstIdle(pool: number): number {
    return this.idle.first(pool);
  }

  /** When a device is expected to take the next batch: 0 where it is idle, undefined while it is down. */
  freeAt(device: number): number | undefined {
    if (this.up[device] === 0) return undefined;
    return this.running[device] === NONE ? 0 : (this.endAt[device] as number);
  }

  lastUseAt(pool: number): number {
    return this.lastUse[pool] as number;
  }

  begin(batch: number, device: number, endAt: number): void {
    this.idle.remove(this.poolOf(device), device);
    this.running[device] = batch;
    this.endAt[device] = endAt;
  }

  /** The driver says that the device began the batch. */
  started(batch: number, device: number): void {
    must(this.running[device] === batch, 'a batch started that is not on its device');
  }

  /** The batch was executed, or failed: its device is idle. */
  ended(batch: number, device: number): void {
    must(this.running[device] === batch, 'a batch ended that was not on its device');
    this.running[device] = NONE;
    this.idle.push(this.poolOf(device), device);
  }

  used(pool: number, at: number): void {
    this.lastUse[pool] = at;
  }

  cameUp(device: number): void {
    must(this.up[device] === 0, 'a device came up that is up');
    this.up[device] = 1;
    this.idle.push(this.poolOf(device), device);
  }

  /** @returns the batch that was on it, NONE where none was */
  wentDown(device: number): number {
    const batch = this.running[device] as number;
    this.up[device] = 0;
    this.running[device] = NONE;
    if (batch === NONE) this.idle.remove(this.poolOf(device), device);
    return batch;
  }

  private poolOf(device: number): number {
    return this.topology.devices[device]?.pool as number;
  }
}
