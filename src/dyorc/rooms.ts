import { largestOf } from '../collections/index.js';
import type { ComponentOnClass, OpenCluster, PlannedComponent } from '../formats/index.js';
import { BYTES_PER_GIB } from '../formats/index.js';
import { filledLatencies } from '../serving/index.js';
import type { BareDevice } from './devices.js';

/** RoomsProblem is what is to be held, and where. */
export interface RoomsProblem {
  readonly components: readonly PlannedComponent[];
  readonly cluster: Pick<OpenCluster, 'devices'>;
  readonly devices: readonly BareDevice[];
}

/**
 * DeviceRooms is what a group of devices holds while it is decided. Devices and components are named by their
 * places. Beside what it holds, a device keeps room for the inputs of any of it.
 */
export class DeviceRooms {
  readonly components: readonly PlannedComponent[];
  readonly devices: readonly BareDevice[];
  private readonly held: Set<number>[];
  private readonly freeBytes: Float64Array;
  /**
   * By device, the rows of each component that it executes in a nanosecond in its best batch; 0 where its class does
   * not run it.
   */
  private readonly rows: readonly Float64Array[];

  /** @param inputBytes by component, the room that its inputs need */
  constructor(
    { components, devices, cluster }: RoomsProblem,
    private readonly inputBytes: readonly number[],
  ) {
    this.components = components;
    this.devices = devices;
    this.held = devices.map(() => new Set());
    this.freeBytes = Float64Array.from(
      devices,
      (device) => (cluster.devices[device.class]?.memoryGiB ?? Number.POSITIVE_INFINITY) * BYTES_PER_GIB,
    );
    const byClass = new Map<string, Float64Array>();
    this.rows = devices.map((device) => {
      const known = byClass.get(device.class) ?? rowsOn(components, device.class);
      byClass.set(device.class, known);
      return known;
    });
  }

  /** rowsPerNs is how many rows of a component a device executes in a nanosecond in its best batch. */
  rowsPerNs(device: number, component: number): number {
    return (this.rows[device] as Float64Array)[component] as number;
  }

  /** free is how many bytes of a device nothing takes. */
  free(device: number): number {
    return this.freeBytes[device] as number;
  }

  canTake(device: number, component: number): boolean {
    return (
      this.rowsPerNs(device, component) > 0 &&
      !this.holds(device, component) &&
      this.bytesOf(component) + this.inputsBeside(device, component) <= this.free(device)
    );
  }

  take(device: number, component: number): void {
    (this.held[device] as Set<number>).add(component);
    this.freeBytes[device]! -= this.bytesOf(component);
  }

  drop(device: number, component: number): void {
    if ((this.held[device] as Set<number>).delete(component))
      this.freeBytes[device]! += this.bytesOf(component);
  }

  holds(device: number, component: number): boolean {
    return (this.held[device] as Set<number>).has(component);
  }

  /** heldBy lists the components of a device, by their places. */
  heldBy(device: number): number[] {
    return [...(this.held[device] as Set<number>)].sort((a, b) => a - b);
  }

  /** holders lists the devices that hold a component. */
  holders(component: number): number[] {
    return this.devices.flatMap((_, d) => (this.holds(d, component) ? [d] : []));
  }

  /** inputsBeside is the room that inputs need on a device once it holds a component too. */
  private inputsBeside(device: number, component: number): number {
    return largestOf([component, ...this.heldBy(device)].map((one) => this.inputBytes[one] as number));
  }

  private bytesOf(component: number): number {
    return (this.components[component] as PlannedComponent).memoryBytes;
  }
}

function rowsOn(components: readonly PlannedComponent[], device: string): Float64Array {
  return Float64Array.from(components, ({ classes }) => {
    const found = classes.find((one) => one.device === device);
    return found === undefined ? 0 : bestRowsPerNs(found);
  });
}

function bestRowsPerNs({ latencyUsByBatch, batch }: ComponentOnClass): number {
  return filledLatencies(latencyUsByBatch, batch).reduce((best, ns, i) => Math.max(best, (i + 1) / ns), 0);
}
