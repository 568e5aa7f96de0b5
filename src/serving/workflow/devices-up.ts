import { NONE } from '../../collections/index.js';
import type { Topology } from '../topology.js';
import type { PlannedWork } from './planned-work.js';
import type { Residency } from './residency.js';
import {
  type ComponentPool,
  type DeviceMemory,
  type Placeable,
  passTimes,
  type WorkflowTable,
} from './table.js';
import type { Devices } from './to-place.js';
import type { Task } from './work.js';

/** DevicesUpOptions holds the parts of DevicesUp. */
export interface DevicesUpOptions {
  readonly topology: Topology;
  readonly table: WorkflowTable;
  readonly placeable: Placeable;
  readonly residency: Residency;
  readonly work: PlannedWork;
}

/** DevicesUp says which devices are up, and what they can execute. */
export class DevicesUp implements Devices {
  readonly leastNs: Devices['leastNs'];
  readonly passNs: Devices['passNs'];
  private readonly up: Uint8Array;
  /** By device and component, the largest batch: 0 where the device cannot hold the component. */
  private readonly mostRows: Int32Array;
  private readonly components: number;

  constructor(private readonly options: DevicesUpOptions) {
    const { topology, table } = options;
    this.components = table.components.length;
    this.up = new Uint8Array(topology.devices.length);
    this.mostRows = rowsThatFit(options);
    this.leastNs = leastTimes(topology, table);
    this.passNs = passTimes(table);
  }

  get count(): number {
    return this.up.length;
  }

  isUp(device: number): boolean {
    return this.up[device] === 1;
  }

  /** set hears whether a device is up. */
  set(device: number, isUp: boolean): void {
    this.up[device] = isUp ? 1 : 0;
  }

  canRun(device: number, component: number, rows: number): boolean {
    return this.up[device] === 1 && this.fits(device, component, rows);
  }

  /** isHopeless returns whether no device executes a task, whichever are up. */
  isHopeless({ component, rows }: Task): boolean {
    for (let device = 0; device < this.count; device++) if (this.fits(device, component, rows)) return false;
    return true;
  }

  /** hasMemoryFor returns whether a device could hold the component of a task and all its inputs, and nothing else. */
  hasMemoryFor({ component, inputs }: Task, device: number): boolean {
    const { residency, table } = this.options;
    let bytes = residency.bytesOf(device, component);
    for (const [i, input] of inputs.entries()) if (inputs.indexOf(input) === i) bytes += input.bytes;
    return bytes <= (table.devices[device] as DeviceMemory).bytes;
  }

  private fits(device: number, component: number, rows: number): boolean {
    return rows <= (this.mostRows[device * this.components + component] as number);
  }
}

function rowsThatFit({ table, placeable, residency, work }: DevicesUpOptions): Int32Array {
  const { components, devices } = table;
  return Int32Array.from({ length: devices.length * components.length }, (_, i) => {
    const [device, component] = [Math.floor(i / components.length), i % components.length];
    if (placeable.poolOf(device, component) === NONE) return 0;
    const { bytes } = devices[device] as DeviceMemory;
    return residency.bytesOf(device, component) <= bytes ? work.largest(device, component) : 0;
  });
}

/** leastTimes gives the least time of a batch of each component with a given number of rows or more, on any class. */
function leastTimes({ pools }: Topology, table: WorkflowTable): Devices['leastNs'] {
  const least: number[][] = table.components.map(() => []);
  for (const [pool, { latencyNs }] of pools.entries()) {
    const times = least[(table.pools[pool] as ComponentPool).component] as number[];
    let leastNs = Number.POSITIVE_INFINITY;
    for (let rows = latencyNs.length; rows >= 1; rows--) {
      leastNs = Math.min(leastNs, latencyNs[rows - 1] as number);
      times[rows] = Math.min(times[rows] ?? Number.POSITIVE_INFINITY, leastNs);
    }
  }
  return (component, rows) => least[component]?.[rows] ?? 0;
}
