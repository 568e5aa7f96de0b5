import { Int32Column } from './columns.js';

/** Slots hands out small integers and takes them back. The last one returned is the next one handed out. */
export class Slots {
  private readonly free = new Int32Column(16);
  private freeCount = 0;
  private end = 0;

  /** used counts the slots that are handed out. */
  get used(): number {
    return this.end - this.freeCount;
  }

  take(): number {
    if (this.freeCount > 0) return this.free.get(--this.freeCount);
    return this.end++;
  }

  giveBack(slot: number): void {
    this.free.reach(this.freeCount + 1);
    this.free.set(this.freeCount++, slot);
  }
}
