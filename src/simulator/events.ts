import { grownColumn, NONE as SHARED_NONE } from '../collections/index.js';
import { fault, InputError } from '../formats/index.js';
import { SortedEvents } from './sorted-events.js';

const NONE = SHARED_NONE;

/** A rank holds a sequence number below SEQUENCES and a priority above it, in one exact double. */
const SEQUENCES = 2 ** 49;
const PRIORITIES = 16;
/** Buckets cost more than they spare where events are few: they are given up at FEW, and made again above MANY. */
const FEW = 24;
const MANY = 48;
/** There are about so many buckets for each event that is put into them. */
const BUCKETS_PER_EVENT = 2;
/** The buckets reach so many times as far as the events for which they are made, so that most of those to come fit in. */
const REACH = 4;

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
 * It is a ladder queue of one rung (Tang, Goh and Thng, "Ladder queue", 2005). The next events lie sorted. Those after them lie
 * in buckets of equal lengths of time, unsorted, and are sorted bucket by bucket. Those after the last bucket lie in one
 * list, of which new buckets are made when all are empty. So an event costs constant time where events are spread evenly
 * over time, and O(log n) where all of them are in one bucket. While events are few, all of them lie sorted. The queue
 * has no clock: its reader's time is that of the event taken last.
 */
export class EventQueue {
  /** `next` holds the events before `nextEnd`: at least one, where there is any. It is Infinity while events are few. */
  private readonly next = new SortedEvents();
  private nextEnd = Number.POSITIVE_INFINITY;
  private readonly waiting = new WaitingEvents();
  /** `first` is the first event in the list of each bucket. Those before `bucket` are sorted or taken. */
  private first = new Int32Array(0);
  private bucket = 0;
  private buckets = 0;
  /** The buckets are `widthNs` long, a power of two, so that the bucket of a time is found without rounding. */
  private widthNs = 1;
  private start = 0;
  private end = 0;
  /** `later` is the list of the `laterCount` events at `end` or after it, between `least` and `most`. */
  private later = NONE;
  private laterCount = 0;
  private least = Number.POSITIVE_INFINITY;
  private most = 0;
  private sequence = 0;

  size = 0;
  /** `nextAt` is the time of the next event, Infinity where there is none. */
  nextAt = Number.POSITIVE_INFINITY;

  /** nextPriority is the priority of the next event; there must be one. */
  get nextPriority(): number {
    return (this.next.firstRank / SEQUENCES) | 0;
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
    const rank = priority * SEQUENCES + this.sequence++;
    this.size += 1;
    if (at < this.nextEnd) {
      this.next.push(at, rank, event);
      this.nextAt = this.next.firstAt;
      if (this.size > MANY && this.nextEnd === Number.POSITIVE_INFINITY) this.endSorted();
    } else if (at < this.end) this.putInBucket(this.waiting.add(at, rank, event), at);
    else this.putLater(this.waiting.add(at, rank, event), at);
  }

  /** take removes the next event and gives the number that it was scheduled with; there must be one. */
  take(): number {
    const { next } = this;
    const event = next.take();
    this.size -= 1;
    if (next.size === 0) this.refill();
    else this.nextAt = next.firstAt;
    return event;
  }

  /** endSorted lets events that come after all of now lie unsorted from now on. */
  private endSorted(): void {
    this.nextEnd = this.next.lastAt + 1;
    this.end = this.nextEnd;
    this.bucket = this.buckets;
  }

  private putInBucket(event: number, at: number): void {
    const bucket = ((at - this.start) / this.widthNs) | 0;
    this.waiting.next[event] = this.first[bucket] as number;
    this.first[bucket] = event;
  }

  private putLater(event: number, at: number): void {
    this.waiting.next[event] = this.later;
    this.later = event;
    this.laterCount += 1;
    if (at < this.least) this.least = at;
    if (at > this.most) this.most = at;
  }

  /** refill moves the events of the next bucket that has any among the sorted, of which there are none. */
  private refill(): void {
    if (!this.takeBucket()) {
      if (this.laterCount <= FEW) this.sortAll();
      else {
        this.makeBuckets();
        this.takeBucket();
      }
    }
    this.nextAt = this.size > 0 ? this.next.firstAt : Number.POSITIVE_INFINITY;
  }

  /**
   * takeBucket moves the events of the next bucket that has any among the sorted.
   * @returns whether any had
   */
  private takeBucket(): boolean {
    const { first, buckets } = this;
    while (this.bucket < buckets) {
      const bucket = this.bucket++;
      const event = first[bucket] as number;
      if (event === NONE) continue;
      first[bucket] = NONE;
      this.nextEnd = this.start + this.bucket * this.widthNs;
      this.waiting.moveTo(this.next, event);
      return true;
    }
    return false;
  }

  /** sortAll moves the later events among the sorted, where all are from now on. */
  private sortAll(): void {
    this.nextEnd = Number.POSITIVE_INFINITY;
    if (this.later !== NONE) this.waiting.moveTo(this.next, this.later);
    this.emptyLater();
  }

  /** makeBuckets spreads the later events over new buckets. */
  private makeBuckets(): void {
    const { later, laterCount, least, most } = this;
    this.emptyLater();
    this.setBuckets(least, (most - least + 1) / (BUCKETS_PER_EVENT * laterCount), most);
    const { times, next } = this.waiting;
    for (let event = later; event !== NONE; ) {
      const after = next[event] as number;
      this.putInBucket(event, times[event] as number);
      event = after;
    }
  }

  private emptyLater(): void {
    this.later = NONE;
    this.laterCount = 0;
    this.least = Number.POSITIVE_INFINITY;
    this.most = 0;
  }

  /** setBuckets makes empty buckets of about the given length from a time on, beyond the last event. */
  private setBuckets(start: number, lengthNs: number, last: number): void {
    this.widthNs = 2 ** Math.max(0, Math.ceil(Math.log2(lengthNs)));
    this.start = start;
    this.bucket = 0;
    this.buckets = REACH * (Math.floor((last - start) / this.widthNs) + 1);
    this.end = start + this.buckets * this.widthNs;
    // Buckets that were taken are empty, so only those are cleared that were never made.
    if (this.buckets > this.first.length) this.first = new Int32Array(2 * this.buckets).fill(NONE);
  }
}

/** WaitingEvents holds events as columns. The queue links them into lists by `next`. */
class WaitingEvents {
  times = new Float64Array(64);
  private ranks = new Float64Array(64);
  private events = new Int32Array(64);
  next = new Int32Array(64);
  /** `free` is the first of the places that are used again, and `end` the number of places ever used. */
  private free = NONE;
  private end = 0;

  /**
   * add keeps an event.
   * @returns its place
   */
  add(at: number, rank: number, event: number): number {
    const place = this.place();
    this.times[place] = at;
    this.ranks[place] = rank;
    this.events[place] = event;
    return place;
  }

  /** moveTo moves the events of a list, which has at least one, among the sorted. */
  moveTo(sorted: SortedEvents, first: number): void {
    let place = first;
    for (;;) {
      sorted.push(this.times[place] as number, this.ranks[place] as number, this.events[place] as number);
      const after = this.next[place] as number;
      if (after === NONE) break;
      place = after;
    }
    this.next[place] = this.free;
    this.free = first;
  }

  private place(): number {
    const place = this.free;
    if (place !== NONE) {
      this.free = this.next[place] as number;
      return place;
    }
    if (this.end === this.events.length) this.grow();
    return this.end++;
  }

  private grow(): void {
    const capacity = 2 * this.end;
    this.times = grownColumn(this.times, capacity);
    this.ranks = grownColumn(this.ranks, capacity);
    this.events = grownColumn(this.events, capacity);
    this.next = grownColumn(this.next, capacity);
  }
}
