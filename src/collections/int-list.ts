import { grownColumn } from './columns.js';

/**
 * IntList is a growing row of 32-bit integers that is emptied and filled again without allocation. It checks no index:
 * reading from `length` on gives an old item, 0 or undefined.
 */
export class IntList {
  private items = new Int32Array(16);
  private count = 0;

  get length(): number {
    return this.count;
  }

  get(index: number): number {
    return this.items[index] as number;
  }

  push(item: number): void {
    if (this.count === this.items.length) this.items = grownColumn(this.items, 2 * this.count);
    this.items[this.count++] = item;
  }

  clear(): void {
    this.count = 0;
  }
}
