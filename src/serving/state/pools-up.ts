import { must } from '../broken-promise.js';
import type { Topology } from '../topology.js';

/**
 * PoolsUp tells which devices are up, and so which pools have a device and which pipelines are up. Pipelines
 * are known by their entries. A change takes constant time.
 */
export class PoolsUp {
  /** `entryOf` is the entry of each pool's pipeline. */
  readonly entryOf: Int32Array;
  private readonly up: Uint8Array;
  private readonly devicesUp: Int32Array;
  /** `poolsDown` is the number of pools without a device in each pipeline, by its entry. */
  private readonly poolsDown: Int32Array;

  constructor(private readonly topology: Topology) {
    const { devices, pools } = topology;
    this.entryOf = Int32Array.from(pools, ({ partition }, pool) => pool - partition);
    this.up = new Uint8Array(devices.length);
    this.devicesUp = new Int32Array(pools.length);
    this.poolsDown = new Int32Array(pools.length);
    for (const entry of this.entryOf) this.poolsDown[entry]! += 1;
  }

  isDeviceUp(device: number): boolean {
    return this.up[device] === 1;
  }

  /** hasDevice tells whether any device of the pool is up. */
  hasDevice(pool: number): boolean {
    return (this.devicesUp[pool] as number) > 0;
  }

  /**
   * isUp tells whether every pool of the pipeline from this one on has a device, so that a task here can go
   * on. O(stages) where some pool is down.
   */
  isUp(pool: number): boolean {
    if (this.poolsDown[this.entryOf[pool] as number] === 0) return true;
    for (let at: number | undefined = pool; at !== undefined; at = this.topology.pools[at]?.next) {
      if (this.devicesUp[at] === 0) return false;
    }
    return true;
  }

  /**
   * deviceUp records that a device is up.
   * @returns whether it is the only device of its pool that is up
   */
  deviceUp(device: number): boolean {
    must(this.up[device] === 0, 'a device that was up came up again');
    this.up[device] = 1;
    const pool = this.topology.devices[device]?.pool as number;
    this.devicesUp[pool]! += 1;
    if (this.devicesUp[pool] !== 1) return false;
    this.poolsDown[this.entryOf[pool] as number]! -= 1;
    return true;
  }

  /**
   * deviceDown records that a device that was up is down.
   * @returns whether it was the last device of its pool that was up
   */
  deviceDown(device: number): boolean {
    this.up[device] = 0;
    const pool = this.topology.devices[device]?.pool as number;
    this.devicesUp[pool]! -= 1;
    if (this.devicesUp[pool] !== 0) return false;
    this.poolsDown[this.entryOf[pool] as number]! += 1;
    return true;
  }
}
