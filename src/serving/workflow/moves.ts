import { NONE as SHARED_NONE } from '../../collections/index.js';
import type { Agenda } from './agenda.js';
import type { DevicesUp } from './devices-up.js';
import type { PlannedWork } from './planned-work.js';
import type { MovingRule } from './policy.js';
import type { Queues } from './queues.js';
import { Held, type Residency } from './residency.js';
import type { TaskEnds } from './task-ends.js';
import type { Task } from './work.js';

const NONE = SHARED_NONE;

/** How many other devices an idle device looks at, how many of their tasks, and how many it takes, at most. */
const MOST_DEVICES = 32;
const MOST_LOOKED_AT = 32;
const MOST_TAKEN = 8;
/** How many idle devices are asked for one task of a busy one, at most. */
const MOST_ASKED = 8;

/** A task moves so often at most, so that none is sent about for ever. */
const MOST_MOVES = 2;

/** MovesOptions holds the parts of Moves. */
export interface MovesOptions {
  readonly rule: MovingRule;
  readonly agenda: Agenda;
  readonly devices: DevicesUp;
  readonly queues: Queues;
  readonly work: PlannedWork;
  readonly residency: Residency;
  readonly ends: TaskEnds;
  /** enqueue puts a task into the queue of the device that it has got. */
  readonly enqueue: (at: number, task: Task) => void;
}

/**
 * Moves lets a device that has nothing to do take tasks from the queues of others, whose inputs are there and which
 * would end sooner on it, with what is to be fetched and loaded for them, and with what it costs others that components
 * leave for it. A device that comes to have nothing to do looks at a bounded number of devices and tasks, at other ones
 * in turn; and a device whose tasks wait offers them to those that have had nothing to do for longer.
 */
export class Moves {
  private next = 0;
  private readonly idle = new Set<number>();

  constructor(private readonly options: MovesOptions) {}

  /** toIdle moves tasks to a device that executes nothing, if the inputs of none of its own are made. */
  toIdle(at: number, device: number): void {
    const { rule, queues, devices } = this.options;
    if (rule.kind === 'never' || queues.head(device) !== undefined) return;
    let [looked, taken] = [0, 0];
    for (let step = 0; step < Math.min(MOST_DEVICES, devices.count); step++) {
      const donor = this.next;
      this.next = (this.next + 1) % devices.count;
      if (donor === device) continue;
      const rowsBefore = new Map<number, number>();
      for (const task of [...first(queues.readyOn(donor), MOST_LOOKED_AT - looked)]) {
        looked += 1;
        const before = rowsBefore.get(task.component) ?? 0;
        rowsBefore.set(task.component, before + task.rows);
        if (!this.takes(at, device, { task, before })) continue;
        taken += 1;
        // The tasks behind it come sooner.
        rowsBefore.set(task.component, before);
        if (taken === MOST_TAKEN) return;
      }
      if (taken > 0 || looked >= MOST_LOOKED_AT) return;
    }
  }

  /** has hears whether a device has nothing to do, so that tasks may be offered to it. */
  has(device: number, isIdle: boolean): void {
    if (isIdle) this.idle.add(device);
    else this.idle.delete(device);
  }

  /** fromBusy moves tasks of a device, whose inputs are there and which wait for it, to devices that have nothing to do. */
  fromBusy(at: number, donor: number): void {
    const { rule, queues } = this.options;
    if (rule.kind === 'never' || this.idle.size === 0) return;
    const rowsBefore = new Map<number, number>();
    for (const task of [...first(queues.readyOn(donor), MOST_LOOKED_AT)]) {
      const before = rowsBefore.get(task.component) ?? 0;
      rowsBefore.set(task.component, before + task.rows);
      const device = this.soonestIdle(at, task);
      if (device === NONE || !this.takes(at, device, { task, before })) continue;
      this.idle.delete(device);
      rowsBefore.set(task.component, before);
    }
  }

  /**
   * soonestIdle is the device that would end a task first of some that have nothing to do, NONE where none
   * can. Devices that hold its component are asked first.
   */
  private soonestIdle(at: number, task: Task): number {
    const { residency } = this.options;
    const { component } = task;
    const holding = this.soonestOf(at, task, (device) => residency.holds(device, component));
    return holding === NONE ? this.soonestOf(at, task, () => true) : holding;
  }

  private soonestOf(at: number, task: Task, mayTake: (device: number) => boolean): number {
    const { devices, ends } = this.options;
    const { component, rows } = task;
    let [soonest, leastNs, asked] = [NONE as number, Number.POSITIVE_INFINITY, 0];
    for (const device of this.idle) {
      if (!mayTake(device) || !devices.canRun(device, component, rows)) continue;
      const { endNs, costNs } = ends.on(at, device, task);
      if (endNs + costNs < leastNs) [soonest, leastNs] = [device, endNs + costNs];
      asked += 1;
      if (asked === MOST_ASKED) break;
    }
    return soonest;
  }

  /**
   * takes moves a task to a device if it would end sooner there than where it is, behind a given number of rows of its
   * component.
   */
  private takes(
    at: number,
    device: number,
    { task, before }: { readonly task: Task; readonly before: number },
  ): boolean {
    const { agenda, devices, queues, work, ends, enqueue } = this.options;
    const { component, rows, device: donor } = task;
    if (task.moves >= MOST_MOVES || !devices.canRun(device, component, rows)) return false;
    if (!devices.hasMemoryFor(task, device)) return false;
    const { readyNs, endNs, costNs } = ends.on(at, device, task);
    if (endNs + costNs >= this.endOn(at, donor, { task, before })) return false;
    queues.leave(task);
    work.withdraw(donor, component, rows);
    // Another task is its head now, which may find room.
    agenda.touched.add(donor);
    task.moves += 1;
    enqueue(at, Object.assign(task, { device, readyNs, endNs }));
    return true;
  }

  /** endOn is a time before which the device of a task does not end it, as it executes its batches in their order. */
  private endOn(
    at: number,
    device: number,
    { task, before }: { readonly task: Task; readonly before: number },
  ): number {
    const { work, residency } = this.options;
    const { component } = task;
    const heldNs =
      residency.stateOf(device, component) === Held.absent ? residency.loadNs(device, component) : 0;
    let nowNs = Math.max(at, work.busyUntilNs(device));
    let rowsLeft = before;
    for (const batch of work.planned(device)) {
      const isOwn = batch.component === component;
      if (isOwn && rowsLeft < batch.rows) break;
      if (isOwn) rowsLeft -= batch.rows;
      nowNs += work.executionNs(device, batch.component, batch.rows);
    }
    return Math.max(nowNs, at + heldNs) + work.executionNs(device, component, task.rows);
  }
}

function* first<T>(items: Iterable<T>, most: number): Generator<T> {
  let count = 0;
  for (const item of items) {
    if (count >= most) return;
    count += 1;
    yield item;
  }
}
