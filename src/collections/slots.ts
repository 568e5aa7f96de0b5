import { grownColumn } from './columns.js';

/** Slots hands out small integers and takes them back. The last one returned is the next handed out. */
export class Slots {
  private free = new Int32Array(16);
  private freeCount = 0;
  private end = 0;

  /** used is how many slots are in use. */
  get used(): number {
    return this.end - this.freeCount;
  }

  take(): number {
    if (this.freeCount > 0) return this.free[--this.freeCount] as number;
    return this.end++;
  }

  giveBack(slot: number): void {
    if (this.freeCount === this.free.length) this.free = grownColumn(this.free, 2 * this.freeCount);
    this.free[this.freeCount++] = slot;
  }
}
