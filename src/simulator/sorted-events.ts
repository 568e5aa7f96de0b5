import { grownColumn } from '../collections/index.js';

/** The most events that are kept in a sorted row, and how many are moved between it and the heap at once. */
const MOST_NEAR = 128;
const MOVED_AT_ONCE = 64;
/** The row has room on both sides, so that an event is put in from the nearer end. */
const ROOM = 2 * MOST_NEAR;
const ARITY = 4;

/**
 * isBefore is the total order, and the only place where it is written: the earlier event comes first, and of
 * one instant the one with the smaller rank.
 */
function isBefore(at: number, rank: number, otherAt: number, otherRank: number): boolean {
  return at < otherAt || (at === otherAt && rank < otherRank);
}

/**
 * SortedEvents holds events in their total order. The first, up to 128, lie sorted in a row of typed arrays, and all
 * others in a heap. Taking an event costs constant time and adding one a few moves within the row, or O(log n) with very
 * many events.
 */
export class SortedEvents {
  /** The times, ranks and numbers of the next events, from `head` to before `end`; none is after one of the heap. */
  private readonly times = new Float64Array(ROOM);
  private readonly ranks = new Float64Array(ROOM);
  private readonly events = new Int32Array(ROOM);
  private head = MOST_NEAR;
  private end = MOST_NEAR;
  private readonly later = new EventHeap();

  get size(): number {
    return this.end - this.head + this.later.size;
  }

  /** firstAt and firstRank are the time and rank of the first event; there must be one. */
  get firstAt(): number {
    return this.times[this.head] as number;
  }

  get firstRank(): number {
    return this.ranks[this.head] as number;
  }

  /** lastAt is the time of the last event of all, where there were at most 128 at any time since there was none. */
  get lastAt(): number {
    return this.times[this.end - 1] as number;
  }

  push(at: number, rank: number, event: number): void {
    if (this.end - this.head === MOST_NEAR) this.spill();
    const { later } = this;
    if (later.size > 0 && !isBefore(at, rank, later.firstAt, later.firstRank)) later.push(at, rank, event);
    else this.insert(at, rank, event);
  }

  /** take removes the first event and gives its number; there must be one. */
  take(): number {
    const event = this.events[this.head] as number;
    this.head += 1;
    if (this.head === this.end) this.refill();
    return event;
  }

  /** insert puts an event into its place in the row, and moves those on the shorter side of it. */
  private insert(at: number, rank: number, event: number): void {
    if (this.head === 0 || this.end === ROOM) this.center();
    const { times, ranks, head, end } = this;
    const middle = (head + end) >> 1;
    const isInFront = head < end && isBefore(at, rank, times[middle] as number, ranks[middle] as number);
    const place = isInFront ? this.openFront(at, rank) : this.openBack(at, rank);
    times[place] = at;
    ranks[place] = rank;
    this.events[place] = event;
  }

  /** openFront moves the events before the given one to the front, and gives its place. */
  private openFront(at: number, rank: number): number {
    const { times, ranks, events } = this;
    let place = --this.head;
    while (isBefore(times[place + 1] as number, ranks[place + 1] as number, at, rank)) {
      times[place] = times[place + 1] as number;
      ranks[place] = ranks[place + 1] as number;
      events[place] = events[place + 1] as number;
      place += 1;
    }
    return place;
  }

  /** openBack moves the events after the given one to the back, and gives its place. */
  private openBack(at: number, rank: number): number {
    const { times, ranks, events, head } = this;
    let place = this.end++;
    while (place > head && isBefore(at, rank, times[place - 1] as number, ranks[place - 1] as number)) {
      times[place] = times[place - 1] as number;
      ranks[place] = ranks[place - 1] as number;
      events[place] = events[place - 1] as number;
      place -= 1;
    }
    return place;
  }

  /** center moves the row to the middle of its room. */
  private center(): void {
    const { head, end } = this;
    const to = (ROOM - (end - head)) >> 1;
    this.times.copyWithin(to, head, end);
    this.ranks.copyWithin(to, head, end);
    this.events.copyWithin(to, head, end);
    this.head = to;
    this.end = to + end - head;
  }

  /** spill moves the later half of a full row into the heap. */
  private spill(): void {
    for (let moved = 0; moved < MOVED_AT_ONCE; moved++) {
      const last = --this.end;
      this.later.push(this.times[last] as number, this.ranks[last] as number, this.events[last] as number);
    }
  }

  /** refill moves the first events of the heap into the empty row. */
  private refill(): void {
    const { later } = this;
    this.head = MOST_NEAR;
    this.end = MOST_NEAR;
    for (let moved = 0; moved < MOVED_AT_ONCE && later.size > 0; moved++) {
      this.times[this.end] = later.firstAt;
      this.ranks[this.end] = later.firstRank;
      this.events[this.end++] = later.first;
      later.removeFirst();
    }
  }
}

/**
 * EventHeap holds any number of events in their total order, as a 4-ary heap over typed arrays. Both operations cost
 * O(log n), and memory is allocated only when it grows.
 */
class EventHeap {
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
