import { NONE } from '../../collections/index.js';
import type { Devices, Input, Placement, ToPlace } from './dynamic-program.js';
import type { DeviceView, Outlook, Probed } from './outlook.js';

/** Placing finds devices for the tasks of a request that are known or expected. */
export interface Placing {
  /**
   * place finds devices for tasks, whose inputs lie before them in the list.
   * @returns the tasks in the order in which they are to be queued; none where some component has no device that runs it
   */
  place(at: number, tasks: readonly ToPlace[]): readonly Placement[];
}

/** Greedy gives each task the device on which it is expected to end first, whatever comes after it (DyOrc §8.3). */
export class Greedy implements Placing {
  constructor(
    private readonly outlook: Outlook,
    private readonly devices: Devices,
  ) {}

  place(at: number, tasks: readonly ToPlace[]): readonly Placement[] {
    const placed: Placement[] = [];
    const changed = new Map<number, DeviceView>();
    for (const [task, { component, rows, inputs }] of tasks.entries()) {
      let least: { readonly device: number; readonly readyNs: number; readonly probed: Probed } | undefined;
      for (let device = 0; device < this.devices.count; device++) {
        if (!this.devices.canRun(device, component, rows)) continue;
        const view = changed.get(device) ?? this.outlook.viewOf(at, device);
        const readyNs = this.readyNs(at, inputs, placed, device);
        const [probed] = this.outlook.probe(at, device, view, { component, rows, readyNs }) as [Probed];
        if (least === undefined || probed.endNs < least.probed.endNs) least = { device, readyNs, probed };
      }
      if (least === undefined) return [];
      changed.set(least.device, least.probed.view);
      placed.push({ task, device: least.device, readyNs: least.readyNs, endNs: least.probed.endNs });
    }
    return placed;
  }

  private readyNs(
    at: number,
    inputs: readonly Input[],
    placed: readonly Placement[],
    device: number,
  ): number {
    return inputs.reduce((readyNs, { bytes, from }) => {
      const sources = typeof from === 'number' ? [sourceOf(placed[from] as Placement)] : from;
      const there = sources.map((source) => source.atNs + this.devices.passNs(bytes, source.device, device));
      return Math.max(
        readyNs,
        there.reduce((least, ns) => Math.min(least, ns), Number.POSITIVE_INFINITY),
      );
    }, at);
  }
}

function sourceOf({ device, endNs }: Placement): { readonly device: number; readonly atNs: number } {
  return { device, atNs: endNs };
}

/** RoundRobin gives tasks the devices in turn, whatever these hold (DyOrc §8.3). */
export class RoundRobin implements Placing {
  private last = NONE;

  constructor(private readonly devices: Devices) {}

  place(at: number, tasks: readonly ToPlace[]): readonly Placement[] {
    const placed: Placement[] = [];
    for (const [task, { component, rows }] of tasks.entries()) {
      const device = this.next(component, rows);
      if (device === NONE) return [];
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
