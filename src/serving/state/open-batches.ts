import { FlagColumn, Int32Column, Slots } from '../../collections/index.js';
import { must } from '../broken-promise.js';

/**
 * OpenBatches holds the batches on devices or between them, as columns by batch number. A batch holds at most
 * `mostTasks` tasks.
 */
export class OpenBatches {
  private readonly slots = new Slots();
  private readonly poolOf = new Int32Column();
  private readonly deviceOf = new Int32Column();
  private readonly sizes = new Int32Column();
  private readonly tasks = new Int32Column();
  private readonly moving = new FlagColumn();

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
    this.poolOf.set(batch, pool);
    this.deviceOf.set(batch, device);
    this.sizes.set(batch, 0);
    this.moving.set(batch, false);
    return batch;
  }

  add(batch: number, task: number): void {
    const size = this.size(batch);
    must(size < this.mostTasks, 'a batch is larger than any planned');
    this.tasks.set(batch * this.mostTasks + size, task);
    this.sizes.set(batch, size + 1);
  }

  /** truncate keeps only the first `size` tasks, which `set` has put in place. */
  truncate(batch: number, size: number): void {
    this.sizes.set(batch, size);
  }

  set(batch: number, i: number, task: number): void {
    this.tasks.set(batch * this.mostTasks + i, task);
  }

  close(batch: number): void {
    this.sizes.set(batch, 0);
    this.slots.giveBack(batch);
  }

  /** moveTo puts the batch at another pool, on a device of it or on none yet (NONE). */
  moveTo(batch: number, pool: number, device: number): void {
    this.poolOf.set(batch, pool);
    this.deviceOf.set(batch, device);
  }

  /** setMoving marks the batch as sent to the next pool. */
  setMoving(batch: number): void {
    this.moving.set(batch, true);
  }

  isMoving(batch: number): boolean {
    return this.moving.has(batch);
  }

  size(batch: number): number {
    return this.sizes.get(batch);
  }

  task(batch: number, i: number): number {
    return this.tasks.get(batch * this.mostTasks + i);
  }

  pool(batch: number): number {
    return this.poolOf.get(batch);
  }

  device(batch: number): number {
    return this.deviceOf.get(batch);
  }

  private grow(length: number): void {
    this.poolOf.reach(length);
    this.deviceOf.reach(length);
    this.sizes.reach(length);
    this.moving.reach(length);
    this.tasks.reach(this.poolOf.length * this.mostTasks);
  }
}
