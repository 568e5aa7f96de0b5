import { itemAt, NONE } from '../../collections/index.js';
import { poolsServedBy, type Topology } from '../topology.js';

/** WorkflowTable says what components need of devices, and how outputs pass between these. */
export interface WorkflowTable {
  /** The names of the components, by their numbers. */
  readonly components: readonly string[];
  /** The needs of each pool's component, by the number of the pool. */
  readonly pools: readonly ComponentPool[];
  /** By the number of the device. */
  readonly devices: readonly DeviceMemory[];
  /** By the number of the server. */
  readonly hosts: readonly HostMemory[];
  /** The bytes of an output that pass in a nanosecond between servers, and between them and the front. */
  readonly networkBytesPerNs: number;
}

/** ComponentPool is a component on a class of devices. */
export interface ComponentPool {
  readonly component: number;
  /** The bytes that it takes of a device's memory, and of its server's. */
  readonly bytes: number;
  /** How long it takes from the server's memory to a device, and from its disk to its memory. */
  readonly loadNs: number;
  readonly diskNs: number;
}

/** DeviceMemory is what a device can hold, and what it holds at the start. */
export interface DeviceMemory {
  readonly bytes: number;
  /** The number of its server. */
  readonly host: number;
  /** The bytes of an output that pass in a nanosecond to another device of its server. */
  readonly linkBytesPerNs: number;
  /** The pools whose components are there at the start. */
  readonly holds: readonly number[];
}

/** HostMemory is how much of components a server's memory can keep. */
export interface HostMemory {
  readonly bytes: number;
}

/** Placeable says which pool a component has on a device: NONE where the device's class cannot run it. */
export class Placeable {
  private readonly pools: Int32Array;

  constructor(
    topology: Topology,
    private readonly table: WorkflowTable,
  ) {
    const count = table.components.length;
    this.pools = new Int32Array(topology.devices.length * count).fill(NONE);
    topology.devices.forEach((device, d) => {
      for (const pool of poolsServedBy(device)) {
        const { component } = itemAt(table.pools, pool);
        this.pools[d * count + component] = pool;
      }
    });
  }

  /** components counts them. */
  get components(): number {
    return this.table.components.length;
  }

  poolOf(device: number, component: number): number {
    return this.pools[device * this.table.components.length + component] as number;
  }
}

/**
 * passTimes gives how long an output takes from one place to another over idle links: nothing on one device, the link between
 * devices of one server, or else the network. The front is the place NONE.
 */
export function passTimes(table: WorkflowTable): (bytes: number, from: number, to: number) => number {
  const { devices, networkBytesPerNs } = table;
  return (bytes, from, to) => {
    if (from === to) return 0;
    if (from !== NONE && to !== NONE) {
      const one = devices[from] as DeviceMemory;
      const other = devices[to] as DeviceMemory;
      if (one.host === other.host)
        return Math.round(bytes / Math.min(one.linkBytesPerNs, other.linkBytesPerNs));
    }
    return Math.round(bytes / networkBytesPerNs);
  };
}
