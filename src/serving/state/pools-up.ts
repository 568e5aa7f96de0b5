import { must } from '../broken-promise.js';
import type { Topology } from '../topology.js';

/** Which devices are up, and with them which pools and pipelines. Pipelines are known by their first pool. Constant per change. */
export class PoolsUp {
  /** First pool of each pool's pipeline. */
  readonly entryOf: Int32Array;
  private readonly up: Uint8Array;
  private readonly devicesUp: Int32Array;
  /** Per first pool the pools of its pipeline without a device. */
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

  hasDevice(pool: number): boolean {
    return (this.devicesUp[pool] as number) > 0;
  }

  /** Every pool of the pipeline from this one on has a device: what stands here can go on. O(stages) where some are down. */
  isUp(pool: number): boolean {
    if (this.poolsDown[this.entryOf[pool] as number] === 0) return true;
    for (let at: number | undefined = pool; at !== undefined; at = this.topology.pools[at]?.next) {
      if (this.devicesUp[at] === 0) return false;
    }
    return true;
  }

  /** @returns whether it is its pool's only one */
  deviceUp(device: number): boolean {
    must(this.up[device] === 0, 'a device came up that is up');
    this.up[device] = 1;
    const pool = this.topology.devices[device]?.pool as number;
    this.devicesUp[pool]! += 1;
    if (this.devicesUp[pool] !== 1) return false;
    this.poolsDown[this.entryOf[pool] as number]! -= 1;
    return true;
  }

  /** @returns whether it was its pool's last */
  deviceDown(device: number): boolean {
    this.up[device] = 0;
    const pool = this.topology.devices[device]?.pool as number;
    this.devicesUp[pool]! -= 1;
    if (this.devicesUp[pool] !== 0) return false;
    this.poolsDown[this.entryOf[pool] as number]! += 1;
    return true;
  }
}
