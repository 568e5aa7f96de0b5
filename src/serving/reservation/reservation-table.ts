import { grownColumn } from '../../collections/index.js';

/**
 * ReservationTable holds the reservations of every resource (a virtual GPU, an uplink or a downlink). They are in the
 * order of their starts, do not overlap, and leave gaps between them. Finished reservations are removed, so rows stay
 * short.
 */
export class ReservationTable {
  private stride = 4;
  private starts: Float64Array;
  private ends: Float64Array;
  private owners: Int32Array;
  private readonly counts: Int32Array;
  /** `busyUntil` is when the last of a resource's reservations ends or ended. */
  readonly busyUntil: Float64Array;

  constructor(resources: number) {
    this.starts = new Float64Array(resources * this.stride);
    this.ends = new Float64Array(resources * this.stride);
    this.owners = new Int32Array(resources * this.stride);
    this.counts = new Int32Array(resources);
    this.busyUntil = new Float64Array(resources);
  }

  count(resource: number): number {
    return this.counts[resource] as number;
  }

  /** total counts the reservations of all resources. O(resources). */
  get total(): number {
    return this.counts.reduce((sum, count) => sum + count, 0);
  }

  owner(resource: number, i: number): number {
    return this.owners[resource * this.stride + i] as number;
  }

  start(resource: number, i: number): number {
    return this.starts[resource * this.stride + i] as number;
  }

  /**
   * earliestSlot is the earliest start, not before `from`, of `length` free nanoseconds: in a gap where one
   * is long enough. O(row).
   */
  earliestSlot(resource: number, from: number, length: number): number {
    if (from >= (this.busyUntil[resource] as number)) return from;
    const first = resource * this.stride;
    const end = first + (this.counts[resource] as number);
    let start = from;
    for (let i = first; i < end; i++) {
      if ((this.starts[i] as number) >= start + length) return start;
      if ((this.ends[i] as number) > start) start = this.ends[i] as number;
    }
    return start;
  }

  /**
   * earliestCommonSlot is the earliest start at which both resources are free for `length` nanoseconds (PPipe A.3,
   * earliestSlot).
   */
  earliestCommonSlot(one: number, other: number, from: number, length: number): number {
    let start = from;
    for (;;) {
      const first = this.earliestSlot(one, start, length);
      const both = this.earliestSlot(other, first, length);
      if (both === first) return both;
      start = both;
    }
  }

  /** insert adds a reservation, by its start, in a slot that the caller has found free. O(row). */
  insert(resource: number, start: number, end: number, owner: number): void {
    const count = this.counts[resource] as number;
    if (count === this.stride) this.widen();
    const first = resource * this.stride;
    let i = first + count;
    for (; i > first && (this.starts[i - 1] as number) > start; i--) this.move(i - 1, i);
    this.starts[i] = start;
    this.ends[i] = end;
    this.owners[i] = owner;
    this.counts[resource] = count + 1;
    if (end > (this.busyUntil[resource] as number)) this.busyUntil[resource] = end;
  }

  /**
   * remove removes the owner's reservation, if there is one. Where no other reservation is left, the resource is
   * free from `freeAt`.
   */
  remove(resource: number, owner: number, freeAt: number): void {
    const first = resource * this.stride;
    const end = first + (this.counts[resource] as number);
    let i = first;
    while (i < end && this.owners[i] !== owner) i++;
    if (i === end) return;
    if (end - i > 32) {
      this.starts.copyWithin(i, i + 1, end);
      this.ends.copyWithin(i, i + 1, end);
      this.owners.copyWithin(i, i + 1, end);
    } else for (; i < end - 1; i++) this.move(i + 1, i);
    this.counts[resource]! -= 1;
    this.busyUntil[resource] = end - 1 > first ? (this.ends[end - 2] as number) : freeAt;
  }

  end(resource: number, i: number): number {
    return this.ends[resource * this.stride + i] as number;
  }

  /**
   * moveTo starts the i-th reservation of a resource at another time; the order stays.
   * @returns when the reservation ends
   */
  moveTo(resource: number, i: number, start: number): number {
    const at = resource * this.stride + i;
    const end = start + (this.ends[at] as number) - (this.starts[at] as number);
    this.starts[at] = start;
    this.ends[at] = end;
    if (i === (this.counts[resource] as number) - 1) this.busyUntil[resource] = end;
    return end;
  }

  private move(from: number, to: number): void {
    this.starts[to] = this.starts[from] as number;
    this.ends[to] = this.ends[from] as number;
    this.owners[to] = this.owners[from] as number;
  }

  private widen(): void {
    const { stride, counts } = this;
    const widened = (column: Float64Array | Int32Array) => {
      const wide = grownColumn(column.subarray(0, 0), 2 * column.length);
      for (let r = 0; r < counts.length; r++)
        wide.set(column.subarray(r * stride, r * stride + (counts[r] as number)), 2 * r * stride);
      return wide;
    };
    this.starts = widened(this.starts) as Float64Array;
    this.ends = widened(this.ends) as Float64Array;
    this.owners = widened(this.owners) as Int32Array;
    this.stride = 2 * stride;
  }
}
