import { NONE as SHARED_NONE } from '../../collections/index.js';
import type { Pool, Topology } from '../topology.js';

const NONE = SHARED_NONE;
const NO_ROWS: readonly number[] = [];

/**
 * DeviceClasses numbers the classes of the devices of pools that have several, after the pools: as rows of
 * the times by which executions are expected. It also counts the devices of each that are up. Every query
 * takes constant time, except for a loop over the classes of one pool.
 */
export class DeviceClasses {
  /** The largest batch and the planned latencies of each class. */
  readonly batches: readonly number[];
  readonly latencies: readonly Float64Array[];
  /** By device, the row of its class; NONE where its pools have devices of one class. */
  private readonly rowOfDevice: Int32Array;
  private readonly poolOfDevice: Int32Array;
  private readonly rowsOfPool: readonly (readonly number[])[];
  /** By class, the devices that are up. */
  private readonly up: Int32Array;
  private readonly pools: number;

  constructor({ pools, devices }: Pick<Topology, 'pools' | 'devices'>) {
    this.pools = pools.length;
    let rows = pools.length;
    this.rowsOfPool = pools.map(({ classes = [] }) => {
      const first = rows;
      rows += classes.length;
      return classes.length === 0 ? NO_ROWS : classes.map((_, k) => first + k);
    });
    this.batches = pools.flatMap(({ batch, classes = [] }) => classes.map(() => batch));
    this.latencies = pools.flatMap(({ classes = [] }: Pool) => classes.map(({ latencyNs }) => latencyNs));
    this.poolOfDevice = Int32Array.from(devices, ({ pool }) => pool);
    this.rowOfDevice = Int32Array.from(devices, ({ pool, poolClass }) =>
      poolClass === undefined ? NONE : (this.rowsOfPool[pool]?.[poolClass] as number),
    );
    this.up = new Int32Array(rows - pools.length);
  }

  /** rowOn is the row by which a device executes batches of a pool: the pool itself, unless its devices are of several classes. */
  rowOn(pool: number, device: number): number {
    if (device === NONE) return pool;
    const row = this.rowOfDevice[device] as number;
    return row === NONE ? pool : row;
  }

  /** rowsOf lists the rows of the classes of a pool; none where its devices are of one class. */
  rowsOf(pool: number): readonly number[] {
    return this.rowsOfPool[pool] as readonly number[];
  }

  /** devicesUp counts the devices of a class that are up. */
  devicesUp(row: number): number {
    return this.up[row - this.pools] as number;
  }

  /** leastOf is the class of a pool with the least value of those with a device that is up, and the pool where there is none. */
  leastOf(pool: number, value: (row: number) => number): number {
    const rows = this.rowsOfPool[pool] as readonly number[];
    let best = pool;
    let least = Number.POSITIVE_INFINITY;
    for (let k = 0; k < rows.length; k++) {
      const row = rows[k] as number;
      if (this.devicesUp(row) === 0 || value(row) >= least) continue;
      best = row;
      least = value(row);
    }
    return best;
  }

  /**
   * changed reports that a device has come up or gone.
   * @returns its pool where that has devices of several classes, else NONE
   */
  changed(device: number, isUp: boolean): number {
    const row = this.rowOfDevice[device] as number;
    if (row === NONE) return NONE;
    this.up[row - this.pools]! += isUp ? 1 : -1;
    return this.poolOfDevice[device] as number;
  }
}
