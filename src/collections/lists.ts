import { Int32Column } from './columns.js';

/** NONE stands for "no item", "no device" or "no pool" in columns of integers. */
export const NONE = -1;

/**
 * Lists keeps ordered lists of integers, with each item in at most one list. Links are kept in columns: push,
 * insertion and removal from the middle take constant time, and allocate only where a column grows.
 */
export class Lists {
  private readonly head: Int32Column;
  private readonly tail: Int32Column;
  private readonly sizes: Int32Column;
  private readonly nextOf = new Int32Column();
  private readonly previousOf = new Int32Column();

  constructor(lists: number) {
    this.head = new Int32Column(lists, NONE);
    this.tail = new Int32Column(lists, NONE);
    this.sizes = new Int32Column(lists);
  }

  get count(): number {
    return this.sizes.length;
  }

  size(list: number): number {
    return this.sizes.get(list);
  }

  first(list: number): number {
    return this.head.get(list);
  }

  last(list: number): number {
    return this.tail.get(list);
  }

  next(item: number): number {
    return this.nextOf.get(item);
  }

  previous(item: number): number {
    return this.previousOf.get(item);
  }

  push(list: number, item: number): void {
    this.insertAfter(list, this.last(list), item);
  }

  /** insertAfter puts an item behind `before`, or at the front when `before` is NONE. */
  insertAfter(list: number, before: number, item: number): void {
    this.nextOf.reach(item + 1);
    this.previousOf.reach(item + 1);
    const after = before === NONE ? this.first(list) : this.next(before);
    this.previousOf.set(item, before);
    this.nextOf.set(item, after);
    if (before === NONE) this.head.set(list, item);
    else this.nextOf.set(before, item);
    if (after === NONE) this.tail.set(list, item);
    else this.previousOf.set(after, item);
    this.sizes.add(list, 1);
  }

  remove(list: number, item: number): void {
    const before = this.previous(item);
    const after = this.next(item);
    if (before === NONE) this.head.set(list, after);
    else this.nextOf.set(before, after);
    if (after === NONE) this.tail.set(list, before);
    else this.previousOf.set(after, before);
    this.sizes.add(list, -1);
  }

  /**
   * takeAll empties a list.
   * @returns its items in order
   */
  takeAll(list: number): number[] {
    const items: number[] = [];
    for (let item = this.first(list); item !== NONE; item = this.next(item)) items.push(item);
    this.head.set(list, NONE);
    this.tail.set(list, NONE);
    this.sizes.set(list, 0);
    return items;
  }
}
