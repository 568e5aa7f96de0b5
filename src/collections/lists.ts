import { grownCapacity, grownColumn } from './columns.js';

/** NONE is the index that stands for no item, no device or no pool in columns of integers. */
export const NONE = -1;

/**
 * Lists holds a fixed number of ordered lists of integers from 0 on, each item in at most one list, linked through
 * columns as long as the largest item. Adding an item and removing one, from the middle too, take constant time and,
 * but for growth, allocate nothing. The first and last item of an empty list, and the item beyond either end, are NONE.
 * Nothing is checked: an item that is added twice, or removed from a list that it is not in, breaks the lists.
 */
export class Lists {
  private readonly head: Int32Array;
  private readonly tail: Int32Array;
  private readonly sizes: Int32Array;
  private nextOf = new Int32Array(0);
  private previousOf = new Int32Array(0);

  constructor(lists: number) {
    this.head = new Int32Array(lists).fill(NONE);
    this.tail = new Int32Array(lists).fill(NONE);
    this.sizes = new Int32Array(lists);
  }

  /** count is the number of lists, not of items. */
  get count(): number {
    return this.sizes.length;
  }

  size(list: number): number {
    return this.sizes[list] as number;
  }

  first(list: number): number {
    return this.head[list] as number;
  }

  last(list: number): number {
    return this.tail[list] as number;
  }

  next(item: number): number {
    return this.nextOf[item] as number;
  }

  previous(item: number): number {
    return this.previousOf[item] as number;
  }

  /** push adds an item at the end of a list. */
  push(list: number, item: number): void {
    this.insertAfter(list, this.last(list), item);
  }

  /** insertAfter inserts an item behind `before`, or at the front where `before` is NONE. */
  insertAfter(list: number, before: number, item: number): void {
    if (item >= this.nextOf.length) this.grow(item + 1);
    const after = before === NONE ? this.first(list) : this.next(before);
    this.previousOf[item] = before;
    this.nextOf[item] = after;
    if (before === NONE) this.head[list] = item;
    else this.nextOf[before] = item;
    if (after === NONE) this.tail[list] = item;
    else this.previousOf[after] = item;
    this.sizes[list]! += 1;
  }

  /** remove takes an item out of the list that holds it. */
  remove(list: number, item: number): void {
    const before = this.previous(item);
    const after = this.next(item);
    if (before === NONE) this.head[list] = after;
    else this.nextOf[before] = after;
    if (after === NONE) this.tail[list] = before;
    else this.previousOf[after] = before;
    this.sizes[list]! -= 1;
  }

  /**
   * takeAll empties a list.
   * @returns its items in order
   */
  takeAll(list: number): number[] {
    const items: number[] = [];
    for (let item = this.first(list); item !== NONE; item = this.next(item)) items.push(item);
    this.head[list] = NONE;
    this.tail[list] = NONE;
    this.sizes[list] = 0;
    return items;
  }

  private grow(length: number): void {
    const capacity = grownCapacity(this.nextOf.length, length);
    this.nextOf = grownColumn(this.nextOf, capacity);
    this.previousOf = grownColumn(this.previousOf, capacity);
  }
}
