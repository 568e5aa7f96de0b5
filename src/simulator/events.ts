import { fault, InputError } from '../artifacts/index.js';
import { grownColumn } from '../collections/index.js';

/** A rank holds a sequence number below SEQUENCES and a priority above it, in one exact double. */
const SEQUENCES = 2 ** 49;
const PRIORITIES = 16;
const ARITY = 4;

/**
 * isBefore is the total order, and the only place where it is written: the earlier event comes first, and of
 * one instant the one with the smaller rank.
 */
function isBefore(at: number, rank: number, otherAt: number, otherRank: number): boolean {
  return at < otherAt || (at === otherAt && rank < otherRank);
}

const NS_PER_DAY = 86_400e9;

function refuse(at: number, priority: number): never {
  if (at > Number.MAX_SAFE_INTEGER) {
    const days = (at / NS_PER_DAY).toPrecision(3);
    const said = `an event would come ${days} days after the start, but a run can last only 104`;
    const advice = 'Take a smaller load, shorter executions, or a scheduler that drops what it cannot serve.';
    throw new InputError('simulate any further', [fault(said)], advice);
  }
  throw new RangeError(`Cannot schedule an event at ${at} ns with priority ${priority}`);
}

/**
 * EventQueue is the event kernel: it holds the events to come in the total order (time, priority, sequence).
 * Of two events of one instant, the one with the smaller priority comes first; of equal priorities, the one
 * that was scheduled first.
 *
 * It is a 4-ary heap over typed arrays. Both operations cost O(log n), and memory is allocated only when it
 * grows. It has no clock: its reader's time is that of the event taken last.
 */
export class EventQueue {
  /** `keys` holds the time and rank of each event side by side; a rank is priority · SEQUENCES + sequence. */
  private keys = new Float64Array(2 * 64);
  private events = new Int32Array(64);
  private count = 0;
  private sequence = 0;

  /** `nextAt` is the time of the next event, Infinity where there is none. */
  nextAt = Number.POSITIVE_INFINITY;

  get size(): number {
    return this.count;
  }

  /** nextPriority is the priority of the next event; there must be one. */
  get nextPriority(): number {
    return Math.floor((this.keys[1] as number) / SEQUENCES);
  }

  /**
   * schedule adds an event.
   * @param at integer nanoseconds
   * @param priority 0 … 15
   * @param event any 32-bit integer, handed back by `take`
   * @throws InputError past 104 days, where a double no longer holds every whole nanosecond; RangeError for a
   *   time that is no whole number, and for another priority
   */
  schedule(at: number, priority: number, event: number): void {
    if (!Number.isSafeInteger(at) || !(priority >= 0 && priority < PRIORITIES)) refuse(at, priority);
    if (this.count === this.events.length) this.grow();
    const { keys, events } = this;
    const rank = priority * SEQUENCES + this.sequence++;
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

  /** take removes the next event and gives the number that it was scheduled with; there must be one. */
  take(): number {
    const { keys, events } = this;
    const event = events[0] as number;
    const last = --this.count;
    if (last === 0) this.nextAt = Number.POSITIVE_INFINITY;
    else this.sift(keys[2 * last] as number, keys[2 * last + 1] as number, events[last] as number);
    return event;
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
    this.nextAt = this.keys[0] as number;
  }

  private grow(): void {
    const capacity = 2 * this.count;
    this.keys = grownColumn(this.keys, 2 * capacity);
    this.events = grownColumn(this.events, capacity);
  }
}
