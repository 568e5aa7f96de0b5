import { grownCapacity, grownColumn, Slots } from '../../collections/index.js';
import { must } from '../broken-promise.js';

// A batch takes a row of four numbers; these are their places.
const ROW = 2;
const POOL = 0;
const DEVICE = 1;
const SIZE = 2;
const MOVING = 3;

/**
 * OpenBatches holds the batches on devices or between them, as rows by batch number. A batch holds at most
 * `mostTasks` tasks.
 */
export class OpenBatches {
  private readonly slots = new Slots();
  /** `rows` holds the pool, device, size and movement of each batch in a row. */
  private rows = new Int32Array(0);
  private tasks = new Int32Array(0);

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
    const row = batch << ROW;
    if (row >= this.rows.length) this.grow(batch + 1);
    const { rows } = this;
    rows[row + POOL] = pool;
    rows[row + DEVICE] = device;
    rows[row + SIZE] = 0;
    rows[row + MOVING] = 0;
    return batch;
  }

  add(batch: number, task: number): void {
    const size = this.size(batch);
    must(size < this.mostTasks, 'a batch is larger than any planned');
    this.tasks[batch * this.mostTasks + size] = task;
    this.rows[(batch << ROW) + SIZE] = size + 1;
  }

  /** truncate keeps only the first `size` tasks, which `set` has put in place. */
  truncate(batch: number, size: number): void {
    this.rows[(batch << ROW) + SIZE] = size;
  }

  set(batch: number, i: number, task: number): void {
    this.tasks[batch * this.mostTasks + i] = task;
  }

  close(batch: number): void {
    this.rows[(batch << ROW) + SIZE] = 0;
    this.slots.giveBack(batch);
  }

  /** moveTo puts the batch at another pool, on a device of it or on none yet (NONE). */
  moveTo(batch: number, pool: number, device: number): void {
    this.rows[(batch << ROW) + POOL] = pool;
    this.rows[(batch << ROW) + DEVICE] = device;
  }

  /** setMoving marks the batch as sent to the next pool, in a DAG by this edge. */
  setMoving(batch: number, edge = 0): void {
    this.rows[(batch << ROW) + MOVING] = edge + 1;
  }

  isMoving(batch: number): boolean {
    return this.rows[(batch << ROW) + MOVING] !== 0;
  }

  /** edge is the edge of the DAG by which a moving batch is sent; it is 0 in chains. */
  edge(batch: number): number {
    return (this.rows[(batch << ROW) + MOVING] as number) - 1;
  }

  size(batch: number): number {
    return this.rows[(batch << ROW) + SIZE] as number;
  }

  task(batch: number, i: number): number {
    return this.tasks[batch * this.mostTasks + i] as number;
  }

  pool(batch: number): number {
    return this.rows[(batch << ROW) + POOL] as number;
  }

  device(batch: number): number {
    return this.rows[(batch << ROW) + DEVICE] as number;
  }

  private grow(length: number): void {
    const capacity = grownCapacity(this.rows.length >> ROW, length);
    this.rows = grownColumn(this.rows, capacity << ROW);
    this.tasks = grownColumn(this.tasks, capacity * this.mostTasks);
  }
}
