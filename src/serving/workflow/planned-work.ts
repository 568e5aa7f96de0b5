import { NONE } from '../../collections/index.js';
import type { Pool, Topology } from '../topology.js';
import type { Placeable } from './table.js';

/** PlannedBatch is a batch that a device is to execute: the rows of a component that wait for it, or are expected to come. */
export interface PlannedBatch {
  readonly component: number;
  rows: number;
  /** When the first of its tasks is expected to have its inputs there. */
  fromNs: number;
}

/** BegunBatch is a batch that a device executes, and until when that is expected to take. */
export interface BegunBatch {
  readonly component: number;
  readonly rows: number;
  readonly untilNs: number;
}

/**
 * PlannedWork knows what every device has to do: the batch that it executes, and behind it the batches that its tasks
 * form, in the order in which each batch got its first task. A task joins the last batch of its component while there
 * is room (DyOrc §5.1). Tasks that are only expected count like those that are known, or else are kept beside them, so
 * that only their components are needed.
 *
 * Each change costs O(batches of the device).
 */
export class PlannedWork {
  private readonly batches: PlannedBatch[][];
  /** When the batch that a device executes is expected to end, 0 where it executes none, and the component that it executes. */
  private readonly busyUntil: Float64Array;
  private readonly running: Int32Array;
  /** When the component that a device loads is expected to be there, 0 where it loads none. */
  private readonly copyingUntil: Float64Array;
  /** By device and component, how many rows wait or are expected. */
  private readonly rows: Int32Array;
  private readonly versions: Int32Array;
  /** By device, the components of expected tasks that do not count as work. */
  private readonly awaited: number[][];

  constructor(
    private readonly topology: Topology,
    private readonly placeable: Placeable,
    private readonly countsExpected = true,
  ) {
    this.batches = topology.devices.map(() => []);
    this.awaited = topology.devices.map(() => []);
    this.busyUntil = new Float64Array(topology.devices.length);
    this.running = new Int32Array(topology.devices.length).fill(NONE);
    this.copyingUntil = new Float64Array(topology.devices.length);
    this.rows = new Int32Array(topology.devices.length * placeable.components);
    this.versions = new Int32Array(topology.devices.length);
  }

  /** devices is how many there are. */
  get devices(): number {
    return this.batches.length;
  }

  /** versionOf counts the changes of what a device has to do. */
  versionOf(device: number): number {
    return this.versions[device] as number;
  }

  planned(device: number): readonly PlannedBatch[] {
    return this.batches[device] as PlannedBatch[];
  }

  busyUntilNs(device: number): number {
    return this.busyUntil[device] as number;
  }

  /** executing is the component that a device executes, NONE where it executes nothing. */
  executing(device: number): number {
    return this.running[device] as number;
  }

  copyingUntilNs(device: number): number {
    return this.copyingUntil[device] as number;
  }

  /** copies says until when a device is expected to load a component, 0 once it loads none. */
  copies(device: number, untilNs: number): void {
    this.copyingUntil[device] = untilNs;
    this.versions[device]! += 1;
  }

  /** rowsOf counts the rows of a component that a device is to execute. */
  rowsOf(device: number, component: number): number {
    return this.rows[device * this.placeable.components + component] as number;
  }

  /** largest is the largest batch of a component on a device. */
  largest(device: number, component: number): number {
    return (this.topology.pools[this.placeable.poolOf(device, component)] as Pool).batch;
  }

  /** executionNs is how long a batch of a component takes on a device. */
  executionNs(device: number, component: number, rows: number): number {
    const { latencyNs } = this.topology.pools[this.placeable.poolOf(device, component)] as Pool;
    return latencyNs[rows - 1] as number;
  }

  /** add adds rows to what a device is to execute, whose inputs are expected to be there from `fromNs` on. */
  add(device: number, { component, rows, fromNs }: PlannedBatch): void {
    const batches = this.batches[device] as PlannedBatch[];
    const last = batches.findLast((batch) => batch.component === component);
    if (last !== undefined && last.rows + rows <= this.largest(device, component)) {
      last.rows += rows;
      last.fromNs = Math.min(last.fromNs, fromNs);
    } else batches.push({ component, rows, fromNs });
    this.counted(device, component, rows);
  }

  /** withdraw takes back rows that were added, the last ones first. */
  withdraw(device: number, component: number, rows: number): void {
    const batches = this.batches[device] as PlannedBatch[];
    for (let i = batches.length - 1, left = rows; left > 0; i--) left -= taken(batches, i, component, left);
    this.counted(device, component, -rows);
  }

  /** expect adds rows that may come. */
  expect(device: number, batch: PlannedBatch): void {
    if (this.countsExpected) {
      this.add(device, batch);
      return;
    }
    (this.awaited[device] as number[]).push(batch.component);
    this.counted(device, batch.component, batch.rows);
  }

  /** withdrawExpected takes back rows that were expected. */
  withdrawExpected(device: number, component: number, rows: number): void {
    if (this.countsExpected) {
      this.withdraw(device, component, rows);
      return;
    }
    const awaited = this.awaited[device] as number[];
    awaited.splice(awaited.indexOf(component), 1);
    this.counted(device, component, -rows);
  }

  /** needed lists the components that a device is to execute, known tasks before those that do not count as work. */
  needed(device: number): readonly number[] {
    const planned = this.planned(device).map(({ component }) => component);
    return [...planned, ...(this.awaited[device] as number[])];
  }

  /** begun reports that a device has begun rows of a component, the first ones. */
  begun(device: number, { component, rows, untilNs }: BegunBatch): void {
    const batches = this.batches[device] as PlannedBatch[];
    this.busyUntil[device] = untilNs;
    this.running[device] = component;
    for (let i = 0, left = rows; left > 0; ) {
      const before = batches.length;
      left -= taken(batches, i, component, left);
      if (batches.length === before) i += 1;
    }
    this.counted(device, component, -rows);
  }

  /** ended reports that a device executes nothing any more. */
  ended(device: number): void {
    this.busyUntil[device] = 0;
    this.running[device] = NONE;
    this.versions[device]! += 1;
  }

  /** empty forgets all that a device had to do. */
  empty(device: number): void {
    (this.batches[device] as PlannedBatch[]).length = 0;
    (this.awaited[device] as number[]).length = 0;
    const first = device * this.placeable.components;
    this.rows.fill(0, first, first + this.placeable.components);
    this.ended(device);
    this.copies(device, 0);
  }

  private counted(device: number, component: number, more: number): void {
    this.rows[device * this.placeable.components + component]! += more;
    this.versions[device]! += 1;
  }
}

/** taken takes rows of a component from a batch, which is no more where none is left, and says how many. */
function taken(batches: PlannedBatch[], i: number, component: number, most: number): number {
  const batch = batches[i] as PlannedBatch;
  if (batch.component !== component) return 0;
  const rows = Math.min(most, batch.rows);
  batch.rows -= rows;
  if (batch.rows === 0) batches.splice(i, 1);
  return rows;
}
