import { must } from '../broken-promise.js';
import { poolsServedBy, type Topology, type VirtualDevice } from '../topology.js';
import { DagColumns } from './dag-columns.js';

/**
 * PoolsUp says which devices are up, and so which pools have a device and which pipelines are up. Pipelines
 * are known by their entries. A change takes constant time.
 */
export class PoolsUp {
  /** `entryOf` is the entry of each pool's pipeline. */
  readonly entryOf: Int32Array;
  private readonly up: Uint8Array;
  private readonly devicesUp: Int32Array;
  /** `poolsDown` is the number of pools without a device in each pipeline, by its entry. */
  private readonly poolsDown: Int32Array;

  /** `reached` lists, for each pool, those that a task can still come to. */
  private readonly reached: readonly (readonly number[])[];

  constructor(private readonly topology: Topology) {
    const { devices, pools } = topology;
    this.entryOf = Int32Array.from(pools, ({ partition }, pool) => pool - partition);
    this.up = new Uint8Array(devices.length);
    this.devicesUp = new Int32Array(pools.length);
    this.poolsDown = new Int32Array(pools.length);
    const graph = new DagColumns(topology);
    this.reached = pools.map((_, pool) => graph.reachedFrom(pool));
    for (const entry of this.entryOf) this.poolsDown[entry]! += 1;
  }

  isDeviceUp(device: number): boolean {
    return this.up[device] === 1;
  }

  /** devicesIn counts the devices of the pool that are up. */
  devicesIn(pool: number): number {
    return this.devicesUp[pool] as number;
  }

  /** hasDevice returns whether any device of the pool is up. */
  hasDevice(pool: number): boolean {
    return (this.devicesUp[pool] as number) > 0;
  }

  /**
   * isUp returns whether every pool that a task in this one can still come to has a device. O(stages) where some pool of
   * the pipeline is down.
   */
  isUp(pool: number): boolean {
    if (this.poolsDown[this.entryOf[pool] as number] === 0) return true;
    const reached = this.reached[pool] as readonly number[];
    for (let i = 0; i < reached.length; i++) if (this.devicesUp[reached[i] as number] === 0) return false;
    return true;
  }

  /**
   * deviceUp records that a device is up.
   * @returns whether it is the only device of some pool that is up
   */
  deviceUp(device: number): boolean {
    must(this.up[device] === 0, 'a device that was up came up again');
    this.up[device] = 1;
    let isOnly = false;
    for (const pool of poolsServedBy(this.topology.devices[device] as VirtualDevice)) {
      this.devicesUp[pool]! += 1;
      if (this.devicesUp[pool] !== 1) continue;
      this.poolsDown[this.entryOf[pool] as number]! -= 1;
      isOnly = true;
    }
    return isOnly;
  }

  /**
   * deviceDown records that a device that was up is down.
   * @returns whether it was the last device of some pool that was up
   */
  deviceDown(device: number): boolean {
    this.up[device] = 0;
    let wasLast = false;
    for (const pool of poolsServedBy(this.topology.devices[device] as VirtualDevice)) {
      this.devicesUp[pool]! -= 1;
      if (this.devicesUp[pool] !== 0) continue;
      this.poolsDown[this.entryOf[pool] as number]! += 1;
      wasLast = true;
    }
    return wasLast;
  }
}
