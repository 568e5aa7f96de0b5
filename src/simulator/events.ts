import { grownColumn } from '../collections/index.js';
import { fault, InputError } from '../formats/index.js';

/** A rank holds a sequence number below SEQUENCES and a priority above it, in one exact double. */
const SEQUENCES = 2 ** 49;
const PRIORITIES = 16;

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
 * that was scheduled first. The queue has no clock: its reader's time is that of the event taken last.
 *
 * It is a binary heap over typed arrays: both operations cost O(log n), and memory is allocated only when it grows.
 * docs/simulation.md says what other structures would gain.
 */
export class EventQueue {
  /**
   * The heap lies in the places before `size`, where the children of place i are at 2 i + 1 and 2 i + 2. An event that is
   * on its way to its place waits behind the heap.
   */
  private times = new Float64Array(64);
  private ranks = new Float64Array(64);
  private events = new Int32Array(64);
  private sequence = 0;

  size = 0;
  /** `nextAt` is the time of the next event, Infinity where there is none. */
  nextAt = Number.POSITIVE_INFINITY;

  /** nextPriority is the priority of the next event; there must be one. */
  get nextPriority(): number {
    return ((this.ranks[0] as number) / SEQUENCES) | 0;
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
    let hole = this.size;
    const added = hole + 1;
    if (added === this.events.length) this.grow();
    this.times[added] = at;
    this.ranks[added] = priority * SEQUENCES + this.sequence++;
    this.events[added] = event;
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      if (!this.isBefore(added, parent)) break;
      this.move(parent, hole);
      hole = parent;
    }
    this.move(added, hole);
    this.size += 1;
    if (at < this.nextAt) this.nextAt = at;
  }

  /** take removes the next event and gives the number that it was scheduled with; there must be one. */
  take(): number {
    const event = this.events[0] as number;
    this.size -= 1;
    const last = this.size;
    let hole = 0;
    let child = this.earlierChild(hole);
    while (child < last && this.isBefore(child, last)) {
      this.move(child, hole);
      hole = child;
      child = this.earlierChild(hole);
    }
    this.move(last, hole);
    this.nextAt = last > 0 ? (this.times[0] as number) : Number.POSITIVE_INFINITY;
    return event;
  }

  /** earlierChild gives a place of `size` or more where there is no child. */
  private earlierChild(parent: number): number {
    const left = 2 * parent + 1;
    const right = left + 1;
    return right < this.size && this.isBefore(right, left) ? right : left;
  }

  private isBefore(place: number, other: number): boolean {
    const at = this.times[place] as number;
    const otherAt = this.times[other] as number;
    return at < otherAt || (at === otherAt && (this.ranks[place] as number) < (this.ranks[other] as number));
  }

  private move(from: number, to: number): void {
    this.times[to] = this.times[from] as number;
    this.ranks[to] = this.ranks[from] as number;
    this.events[to] = this.events[from] as number;
  }

  private grow(): void {
    const capacity = 2 * this.events.length;
    this.times = grownColumn(this.times, capacity);
    this.ranks = grownColumn(this.ranks, capacity);
    this.events = grownColumn(this.events, capacity);
  }
}
