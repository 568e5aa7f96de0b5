import { grownColumn } from './columns.js';

/**
 * Slots hands out the integers 0, 1, 2, … and takes them back. The last one that was given back is the next handed out;
 * if none is free, the next integer is. It has no limit.
 */
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

  /** giveBack frees a slot that is in use, which is not checked: one given back twice is handed out twice. */
  giveBack(slot: number): void {
    if (this.freeCount === this.free.length) this.free = grownColumn(this.free, 2 * this.freeCount);
    this.free[this.freeCount++] = slot;
  }
}
