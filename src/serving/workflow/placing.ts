import { NONE } from '../../collections/index.js';
import { type DeviceProbe, type DeviceView, type Outlook, soonestWay, type WayEnds } from './outlook.js';
import type { Devices, Goal, Input, OutputSource, PlacedTask, ToPlace } from './to-place.js';

/** Placing finds devices for the tasks of a request that are known or expected. */
export interface Placing {
  /**
   * place finds devices for tasks, whose inputs lie before them in the list. All are known where no goal is given.
   * @returns the tasks in the order in which they are to be queued; none where some component has no device that runs it
   */
  place(at: number, tasks: readonly ToPlace[], goal?: Goal): readonly PlacedTask[];
  /** How many schedules were looked at so far: a task on a device, beside what has devices already. */
  readonly looked: number;
}

/** Greedy gives each task the device on which it is expected to end first, whatever comes after it (DyOrc §8.3). */
export class Greedy implements Placing {
  looked = 0;

  constructor(
    private readonly outlook: Outlook,
    private readonly devices: Devices,
  ) {}

  place(at: number, tasks: readonly ToPlace[]): readonly PlacedTask[] {
    const placed: PlacedTask[] = [];
    const changed = new Map<number, DeviceView>();
    const probe: DeviceProbe = { at, device: 0, view: undefined as never, component: 0, rows: 0, readyNs: 0 };
    for (const [task, { component, rows, inputs }] of tasks.entries()) {
      let least: PlacedTask | undefined;
      const probed = (device: number): WayEnds => {
        const readyNs = this.readyNs(inputs, placed, device);
        const view = changed.get(device) ?? this.outlook.viewOf(at, device);
        Object.assign(probe, { device, view, component, rows, readyNs: Math.max(at, readyNs) });
        return this.outlook.ends(probe);
      };
      for (let device = 0; device < this.devices.count; device++) {
        if (!this.devices.canRun(device, component, rows)) continue;
        const ends = probed(device);
        this.looked += 1;
        const endNs = ends[soonestWay(ends)];
        if (least === undefined || endNs < least.endNs)
          least = { task, device, readyNs: probe.readyNs, endNs };
      }
      if (least === undefined) return [];
      const way = soonestWay(probed(least.device));
      changed.set(least.device, this.outlook.after(probe, way));
      placed.push(least);
    }
    return placed;
  }

  private readyNs(inputs: readonly Input[], placed: readonly PlacedTask[], device: number): number {
    let readyNs = 0;
    for (const { bytes, from } of inputs) {
      const sources = typeof from === 'number' ? [sourceOf(placed[from] as PlacedTask)] : from;
      let leastNs = Number.POSITIVE_INFINITY;
      for (const source of sources)
        leastNs = Math.min(leastNs, source.atNs + this.devices.passNs(bytes, source.device, device));
      readyNs = Math.max(readyNs, leastNs);
    }
    return readyNs;
  }
}

function sourceOf({ device, endNs }: PlacedTask): OutputSource {
  return { device, atNs: endNs };
}

/** RoundRobin gives tasks the devices in turn, whatever these hold (DyOrc §8.3). */
export class RoundRobin implements Placing {
  looked = 0;
  private last = NONE;

  constructor(private readonly devices: Devices) {}

  place(at: number, tasks: readonly ToPlace[]): readonly PlacedTask[] {
    const placed: PlacedTask[] = [];
    for (const [task, { component, rows }] of tasks.entries()) {
      const device = this.next(component, rows);
      if (device === NONE) return [];
      this.looked += 1;
      placed.push({ task, device, readyNs: at, endNs: at });
    }
    return placed;
  }

  private next(component: number, rows: number): number {
    const { count } = this.devices;
    for (let step = 1; step <= count; step++) {
      const device = (this.last + step) % count;
      if (!this.devices.canRun(device, component, rows)) continue;
      this.last = device;
      return device;
    }
    return NONE;
  }
}
