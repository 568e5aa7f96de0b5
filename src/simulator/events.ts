import { grownColumn } from './columns.js';

/** Sequence numbers below this, priorities above it, in one exact double. */
const SEQUENCES = 2 ** 49;
const PRIORITIES = 16;
const ARITY = 4;

/**
 * The event kernel: what is to happen, in the total order (time, priority, sequence). Of two events of one instant that with the
 * smaller priority comes first, of equal ones that which was scheduled first.
 *
 * A 4-ary heap over typed arrays: O(log n) for both operations, nothing is allocated but when it grows. It knows no clock: its
 * reader's time is that of the event taken last. The total order is written in `isBefore` and nowhere else.
 */
export class EventQueue {
  private times = new Float64Array(64);
  /** Priority · SEQUENCES + sequence. */
  private ranks = new Float64Array(64);
  private events = new Int32Array(64);
  private count = 0;
  private sequence = 0;

  /** Time of the next event; Infinity where there is none. */
  nextAt = Number.POSITIVE_INFINITY;

  get size(): number {
    return this.count;
  }

  /** Priority of the next event; there must be one. */
  get nextPriority(): number {
    return Math.floor((this.ranks[0] as number) / SEQUENCES);
  }

  /**
   * @param at integer nanoseconds
   * @param priority 0 … 15
   * @param event any 32-bit integer; handed back by `take`
   */
  schedule(at: number, priority: number, event: number): void {
    if (!Number.isSafeInteger(at) || priority < 0 || priority >= PRIORITIES)
      throw new RangeError(`Cannot schedule an event at ${at} ns with priority ${priority}`);
    if (this.count === this.times.length) this.grow();
    const rank = priority * SEQUENCES + this.sequence++;
    this.place(this.holeFromBottom(at, rank), at, rank, event);
    this.nextAt = this.times[0] as number;
  }

  /** Removes the next event; there must be one. */
  take(): number {
    const event = this.events[0] as number;
    const last = --this.count;
    if (last === 0) {
      this.nextAt = Number.POSITIVE_INFINITY;
      return event;
    }
    const at = this.times[last] as number;
    const rank = this.ranks[last] as number;
    this.place(this.holeFromTop(at, rank), at, rank, this.events[last] as number);
    this.nextAt = this.times[0] as number;
    return event;
  }

  /** Moves later events down until an event of this time and rank fits in. */
  private holeFromBottom(at: number, rank: number): number {
    let hole = this.count++;
    while (hole > 0) {
      const parent = (hole - 1) >> 2;
      if (!this.isBefore(at, rank, parent)) break;
      this.move(parent, hole);
      hole = parent;
    }
    return hole;
  }

  /** Moves earlier events up until an event of this time and rank fits in. */
  private holeFromTop(at: number, rank: number): number {
    let hole = 0;
    for (let first = 1; first < this.count; first = ARITY * hole + 1) {
      const end = Math.min(first + ARITY, this.count);
      let least = first;
      for (let child = first + 1; child < end; child++) {
        if (this.isBefore(this.times[child] as number, this.ranks[child] as number, least)) least = child;
      }
      if (this.isBefore(at, rank, least)) break;
      this.move(least, hole);
      hole = least;
    }
    return hole;
  }

  /** The total order. */
  private isBefore(at: number, rank: number, other: number): boolean {
    const otherAt = this.times[other] as number;
    return at < otherAt || (at === otherAt && rank < (this.ranks[other] as number));
  }

  private move(from: number, to: number): void {
    this.place(to, this.times[from] as number, this.ranks[from] as number, this.events[from] as number);
  }

  private place(index: number, at: number, rank: number, event: number): void {
    this.times[index] = at;
    this.ranks[index] = rank;
    this.events[index] = event;
  }

  private grow(): void {
    const capacity = 2 * this.count;
    this.times = grownColumn(this.times, capacity);
    this.ranks = grownColumn(this.ranks, capacity);
    this.events = grownColumn(this.events, capacity);
  }
}
