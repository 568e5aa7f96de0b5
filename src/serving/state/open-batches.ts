import { grownCapacity, grownColumn, Slots } from '../../collections/index.js';
import { must } from '../broken-promise.js';

/**
 * OpenBatches holds the batches on devices or between them, as columns by batch number. A batch holds at most
 * `mostTasks` tasks.
 */
export class OpenBatches {
  private readonly slots = new Slots();
  private poolOf = new Int32Array(0);
  private deviceOf = new Int32Array(0);
  private sizes = new Int32Array(0);
  private tasks = new Int32Array(0);
  private moving = new Uint8Array(0);

  constructor(private readonly mostTasks: number) {}

  /** count is how many batches are open. */
  get count(): number {
    return this.slots.used;
  }

  /**
   * open starts an empty batch on a device of a pool.
   * @returns its number, which `close` gives back
   */
  open(pool: number, device: number): number {
    const batch = this.slots.take();
    if (batch >= this.poolOf.length) this.grow(batch + 1);
    this.poolOf[batch] = pool;
    this.deviceOf[batch] = device;
    this.sizes[batch] = 0;
    this.moving[batch] = 0;
    return batch;
  }

  add(batch: number, task: number): void {
    const size = this.size(batch);
    must(size < this.mostTasks, 'a batch is larger than any planned');
    this.tasks[batch * this.mostTasks + size] = task;
    this.sizes[batch] = size + 1;
  }

  /** truncate keeps only the first `size` tasks, which `set` has put in place. */
  truncate(batch: number, size: number): void {
    this.sizes[batch] = size;
  }

  set(batch: number, i: number, task: number): void {
    this.tasks[batch * this.mostTasks + i] = task;
  }

  close(batch: number): void {
    this.sizes[batch] = 0;
    this.slots.giveBack(batch);
  }

  /** moveTo puts the batch at another pool, on a device of it or on none yet (NONE). */
  moveTo(batch: number, pool: number, device: number): void {
    this.poolOf[batch] = pool;
    this.deviceOf[batch] = device;
  }

  /** setMoving marks the batch as sent to the next pool. */
  setMoving(batch: number): void {
    this.moving[batch] = 1;
  }

  isMoving(batch: number): boolean {
    return this.moving[batch] === 1;
  }

  size(batch: number): number {
    return this.sizes[batch] as number;
  }

  task(batch: number, i: number): number {
    return this.tasks[batch * this.mostTasks + i] as number;
  }

  pool(batch: number): number {
    return this.poolOf[batch] as number;
  }

  device(batch: number): number {
    return this.deviceOf[batch] as number;
  }

  private grow(length: number): void {
    const capacity = grownCapacity(this.poolOf.length, length);
    this.poolOf = grownColumn(this.poolOf, capacity);
    this.deviceOf = grownColumn(this.deviceOf, capacity);
    this.sizes = grownColumn(this.sizes, capacity);
    this.moving = grownColumn(this.moving, capacity);
    this.tasks = grownColumn(this.tasks, capacity * this.mostTasks);
  }
}
