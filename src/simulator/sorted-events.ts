import { EventHeap, isBefore } from './event-heap.js';

/** The most events that are kept in a sorted row, and how many are moved between it and the heap at once. */
const MOST_NEAR = 128;
const MOVED_AT_ONCE = 64;
/** The row has room on both sides, so that an event is put in from the nearer end. */
const ROOM = 2 * MOST_NEAR;

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
