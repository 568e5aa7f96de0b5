import { Int32Column } from './columns.js';

/** IntList is a growing row of integers that is emptied and filled again without allocation. */
export class IntList {
  private readonly items = new Int32Column(16);
  private count = 0;

  get length(): number {
    return this.count;
  }

  get(index: number): number {
    return this.items.get(index);
  }

  push(item: number): void {
    this.items.reach(this.count + 1);
    this.items.set(this.count++, item);
  }

  clear(): void {
    this.count = 0;
  }
}
