import { type DeviceProbe, type Outlook, soonestWay } from './outlook.js';
import type { Costs, Devices } from './to-place.js';
import type { Task } from './work.js';

/** TaskEndsOptions holds the parts of TaskEnds. */
export interface TaskEndsOptions {
  readonly outlook: Outlook;
  readonly devices: Devices;
  readonly costs: Costs;
}

/** TaskEnd is when a device would have the inputs of a task and end it, and what it costs others that it takes it. */
export interface TaskEnd {
  readonly readyNs: number;
  readonly endNs: number;
  readonly costNs: number;
}

/** TaskEnds says when devices would end tasks whose inputs are made. */
export class TaskEnds {
  private readonly probe: DeviceProbe;

  constructor(private readonly options: TaskEndsOptions) {
    this.probe = { at: 0, device: 0, view: undefined as never, component: 0, rows: 0, readyNs: 0 };
  }

  /** on gives the end of a task on a device: never where an input is not made. */
  on(at: number, device: number, task: Task): TaskEnd {
    const { probe } = this;
    const { outlook, costs } = this.options;
    const readyNs = at + this.broughtNs(task, device);
    probe.at = at;
    probe.device = device;
    probe.view = outlook.viewOf(at, device);
    probe.component = task.component;
    probe.rows = task.rows;
    probe.readyNs = readyNs;
    const ends = outlook.ends(probe);
    return { readyNs, endNs: ends[soonestWay(ends)], costNs: costs.ofNs(probe) };
  }

  /**
   * isAtOnce returns whether a device would end a task as soon as its inputs can be there and any device could execute
   * it, at no cost.
   */
  isAtOnce({ readyNs, endNs, costNs }: TaskEnd, { component, rows }: Task): boolean {
    if (costNs > 0 || readyNs === Number.POSITIVE_INFINITY) return false;
    return endNs <= readyNs + this.options.devices.leastNs(component, rows);
  }

  /** broughtNs is how long the inputs of a task take to a device. */
  private broughtNs({ inputs }: Task, device: number): number {
    let broughtNs = 0;
    for (const { bytes, places } of inputs) {
      let leastNs = Number.POSITIVE_INFINITY;
      for (const place of places)
        leastNs = Math.min(leastNs, this.options.devices.passNs(bytes, place.device, device));
      broughtNs = Math.max(broughtNs, leastNs);
    }
    return broughtNs;
  }
}
