import type { DeviceProbe } from './outlook.js';

/** OutputSource is where the output of a task that has a device already lies or will, and from when on. */
export interface OutputSource {
  readonly device: number;
  readonly atNs: number;
}

/** Input is what a task takes: an output that has its places, or that of another task to be placed. */
export interface Input {
  readonly bytes: number;
  /** The index of the task among those to be placed, or its places. */
  readonly from: number | readonly OutputSource[];
}

/** ToPlace is a task that is to get a device. Its inputs come from tasks before it in the list. */
export interface ToPlace {
  readonly component: number;
  readonly rows: number;
  readonly inputs: readonly Input[];
}

/**
 * Goal is what devices are chosen for. The first `known` tasks will be executed, and the others with a `chance`: by as
 * much the end of all counts, and by the rest that of the known ones.
 */
export interface Goal {
  readonly known: number;
  readonly chance: number;
}

/** PlacedTask is the device that a task got, and when its inputs are expected to be there and it to end. */
export interface PlacedTask {
  readonly task: number;
  readonly device: number;
  readonly readyNs: number;
  readonly endNs: number;
}

/** Devices says which devices can execute a component, and how long outputs take between places. */
export interface Devices {
  readonly count: number;
  /** canRun returns whether a device is up and its class runs a given number of rows of a component. */
  canRun(device: number, component: number, rows: number): boolean;
  /**
   * leastNs is the least time in which any device, up or not, executes a given number of rows of a component, alone or
   * with others.
   */
  leastNs(component: number, rows: number): number;
  /** passNs is how long an output takes from one place to another. */
  passNs(bytes: number, from: number, to: number): number;
}

/** Costs says what it costs others that a device takes a task. */
export interface Costs {
  /** ofNs is that cost, in time that others lose. */
  ofNs(probe: DeviceProbe): number;
}

/** Search says how far a search for devices goes. */
export interface Search {
  /** How many devices are tried for each task, besides those that have its inputs or other tasks of the request. */
  readonly candidates: number;
  /** How many partial schedules of as many tasks are kept. */
  readonly beam: number;
  /**
   * isExact says whether tasks get their devices in every order that inputs allow, and in each way in which a
   * device can take them; else in the order in which they are called, and in the way that ends first.
   */
  readonly isExact: boolean;
}

/** EXACT tries everything, and keeps every schedule that may be best. */
export const EXACT: Search = {
  candidates: Number.POSITIVE_INFINITY,
  beam: Number.POSITIVE_INFINITY,
  isExact: true,
};
