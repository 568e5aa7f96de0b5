import { NONE } from '../../collections/index.js';
import type { DeviceWork } from './device-work.js';
import type { Residency } from './residency.js';
import type { Task } from './work.js';

/**
 * Queues holds the known tasks of each device that it has not begun: those whose inputs are there, in the order in which they came
 * to be, and the others.
 */
export class Queues {
  private readonly waiting: readonly Set<Task>[];
  private readonly ready: readonly Set<Task>[];
  /** By device and component, how many tasks it has to do of it. */
  private readonly counts: Int32Array;

  constructor(
    devices: number,
    private readonly components: number,
    private readonly work: DeviceWork,
    private readonly residency: Residency,
  ) {
    this.waiting = Array.from({ length: devices }, () => new Set());
    this.ready = Array.from({ length: devices }, () => new Set());
    this.counts = new Int32Array(devices * components);
  }

  /** readyOn are the tasks that a device could execute if it held their components. */
  readyOn(device: number): ReadonlySet<Task> {
    return this.ready[device] as Set<Task>;
  }

  /** all lists the tasks of a device. */
  all(device: number): Task[] {
    return [...(this.ready[device] as Set<Task>), ...(this.waiting[device] as Set<Task>)];
  }

  /** needs tells whether a device has a known task of a component to do. */
  needs(device: number, component: number): boolean {
    return (this.counts[device * this.components + component] as number) > 0;
  }

  /** push adds a task to those of its device. */
  push(task: Task): void {
    this.counts[task.device * this.components + task.component]! += 1;
    (this.waiting[task.device] as Set<Task>).add(task);
    this.changed(task);
  }

  /** changed tells that other inputs of a task are missing than before. */
  changed(task: Task): void {
    const [waiting, ready] = [this.waiting[task.device] as Set<Task>, this.ready[task.device] as Set<Task>];
    const [from, to] = task.missing === 0 ? [waiting, ready] : [ready, waiting];
    if (from.delete(task)) to.add(task);
  }

  leave(task: Task): void {
    this.counts[task.device * this.components + task.component]! -= 1;
    (this.waiting[task.device] as Set<Task>).delete(task);
    (this.ready[task.device] as Set<Task>).delete(task);
  }

  /**
   * nextBatch takes the batch that a device executes next: the ready tasks of the first component that it holds and that has any,
   * in their order, as many as fit.
   * @returns none where there are none
   */
  nextBatch(device: number): Task[] {
    const batch: Task[] = [];
    let component: number = NONE;
    let room = 0;
    for (const task of this.readyOn(device)) {
      if (component === NONE && this.residency.holds(device, task.component)) {
        component = task.component;
        room = this.work.largest(device, component);
      }
      if (task.component !== component || task.rows > room || (task.isAlone && batch.length > 0)) continue;
      batch.push(task);
      room = task.isAlone ? 0 : room - task.rows;
      if (room === 0) break;
    }
    for (const task of batch) this.leave(task);
    return batch;
  }
}
