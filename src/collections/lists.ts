import { grownCapacity, grownColumn } from './columns.js';

/**
 * NO_ITEM is NONE in this module. A constant of a module's own is compiled into the code, whereas one that is exported
 * or imported is looked up and checked at every use. Modules of `serving` and `simulator` whose code runs for every
 * event keep such a copy; docs/simulation.md says what it saves.
 */
const NO_ITEM = -1;

/** NONE is the index that stands for no item, no device or no pool in columns of integers. */
export const NONE = NO_ITEM;

/**
 * Lists holds a fixed number of ordered lists of integers from 0 on, each item in at most one list, linked through
 * columns as long as the largest item. Adding an item and removing one, from the middle too, take constant time and,
 * except for growth, allocate nothing. The first and last item of an empty list, and the item beyond either end, are NO_ITEM.
 * Nothing is checked: an item that is added twice, or removed from a list that it is not in, breaks the lists.
 */
export class Lists {
  private readonly head: Int32Array;
  private readonly tail: Int32Array;
  private readonly sizes: Int32Array;
  /** The item after each item at the even places, and the one before it at the odd places. */
  private links = new Int32Array(0);

  constructor(lists: number) {
    this.head = new Int32Array(lists).fill(NO_ITEM);
    this.tail = new Int32Array(lists).fill(NO_ITEM);
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
    return this.links[2 * item] as number;
  }

  previous(item: number): number {
    return this.links[2 * item + 1] as number;
  }

  /** push adds an item at the end of a list. */
  push(list: number, item: number): void {
    this.insertAfter(list, this.last(list), item);
  }

  /** insertAfter inserts an item behind `before`, or at the front where `before` is NONE. */
  insertAfter(list: number, before: number, item: number): void {
    if (2 * item >= this.links.length) this.grow(item + 1);
    const { links } = this;
    const after = before === NO_ITEM ? this.first(list) : (links[2 * before] as number);
    links[2 * item] = after;
    links[2 * item + 1] = before;
    if (before === NO_ITEM) this.head[list] = item;
    else links[2 * before] = item;
    if (after === NO_ITEM) this.tail[list] = item;
    else links[2 * after + 1] = item;
    this.sizes[list]! += 1;
  }

  /** remove takes an item out of the list that holds it. */
  remove(list: number, item: number): void {
    const { links } = this;
    const after = links[2 * item] as number;
    const before = links[2 * item + 1] as number;
    if (before === NO_ITEM) this.head[list] = after;
    else links[2 * before] = after;
    if (after === NO_ITEM) this.tail[list] = before;
    else links[2 * after + 1] = before;
    this.sizes[list]! -= 1;
  }

  /**
   * takeAll empties a list.
   * @returns its items in order
   */
  takeAll(list: number): number[] {
    const items: number[] = [];
    for (let item = this.first(list); item !== NO_ITEM; item = this.next(item)) items.push(item);
    this.head[list] = NO_ITEM;
    this.tail[list] = NO_ITEM;
    this.sizes[list] = 0;
    return items;
  }

  private grow(length: number): void {
    this.links = grownColumn(this.links, 2 * grownCapacity(this.links.length >> 1, length));
  }
}
