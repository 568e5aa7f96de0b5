import { grownColumn } from '../collections/index.js';

const ARITY = 4;

/**
 * isBefore is the total order, and the only place where it is written: the earlier event comes first, and of
 * one instant the one with the smaller rank.
 */
export function isBefore(at: number, rank: number, otherAt: number, otherRank: number): boolean {
  return at < otherAt || (at === otherAt && rank < otherRank);
}

/**
 * EventHeap holds any number of events in their total order, as a 4-ary heap over typed arrays. Both operations cost
 * O(log n), and memory is allocated only when it grows.
 */
export class EventHeap {
  /** `keys` holds the time and rank of each event side by side. */
  private keys = new Float64Array(2 * 64);
  private events = new Int32Array(64);
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** firstAt and firstRank are the time and rank of the first event, and `first` is its number; there must be one. */
  get firstAt(): number {
    return this.keys[0] as number;
  }

  get firstRank(): number {
    return this.keys[1] as number;
  }

  get first(): number {
    return this.events[0] as number;
  }

  push(at: number, rank: number, event: number): void {
    if (this.count === this.events.length) this.grow();
    const { keys, events } = this;
    let hole = this.count++;
    while (hole > 0) {
      const parent = (hole - 1) >> 2;
      const parentAt = keys[2 * parent] as number;
      const parentRank = keys[2 * parent + 1] as number;
      if (!isBefore(at, rank, parentAt, parentRank)) break;
      keys[2 * hole] = parentAt;
      keys[2 * hole + 1] = parentRank;
      events[hole] = events[parent] as number;
      hole = parent;
    }
    this.put(hole, at, rank, event);
  }

  /** removeFirst removes the first event; there must be one. */
  removeFirst(): void {
    const { keys, events } = this;
    const last = --this.count;
    if (last > 0) this.sift(keys[2 * last] as number, keys[2 * last + 1] as number, events[last] as number);
  }

  /** sift fills the hole at the top: earlier events move up until this one fits in. */
  private sift(at: number, rank: number, event: number): void {
    const { keys, events, count } = this;
    let hole = 0;
    for (let first = 1; first < count; first = ARITY * hole + 1) {
      let least = first;
      let leastAt = keys[2 * first] as number;
      let leastRank = keys[2 * first + 1] as number;
      const end = Math.min(first + ARITY, count);
      for (let child = first + 1; child < end; child++) {
        const childAt = keys[2 * child] as number;
        const childRank = keys[2 * child + 1] as number;
        if (!isBefore(childAt, childRank, leastAt, leastRank)) continue;
        least = child;
        leastAt = childAt;
        leastRank = childRank;
      }
      if (!isBefore(leastAt, leastRank, at, rank)) break;
      keys[2 * hole] = leastAt;
      keys[2 * hole + 1] = leastRank;
      events[hole] = events[least] as number;
      hole = least;
    }
    this.put(hole, at, rank, event);
  }

  private put(index: number, at: number, rank: number, event: number): void {
    this.keys[2 * index] = at;
    this.keys[2 * index + 1] = rank;
    this.events[index] = event;
  }

  private grow(): void {
    const capacity = 2 * this.count;
    this.keys = grownColumn(this.keys, 2 * capacity);
    this.events = grownColumn(this.events, capacity);
  }
}
