import { NONE as SHARED_NONE } from '../../collections/index.js';

const NONE = SHARED_NONE;

const NEVER = Number.POSITIVE_INFINITY;

/**
 * EarliestDevices finds the device of each group that is free first; of several, it takes the one with the
 * lowest index. Each group is a binary heap. A device that takes no work is never free. A change costs O(log
 * n) and allocates nothing.
 */
export class EarliestDevices {
  /** `free` is when each device is free. While a device takes no work, its last value is kept. */
  readonly free: Float64Array;
  private readonly usable: Uint8Array;
  private readonly heapOf: Int32Array;
  private readonly positionOf: Int32Array;
  private readonly heaps: Int32Array[];

  /** @param groups the devices of each group; no device is in two */
  constructor(devices: number, groups: readonly (readonly number[])[]) {
    this.free = new Float64Array(devices);
    this.usable = new Uint8Array(devices);
    this.heapOf = new Int32Array(devices);
    this.positionOf = new Int32Array(devices);
    this.heaps = groups.map((members, group) => {
      const heap = Int32Array.from(members);
      heap.forEach((device, position) => {
        this.heapOf[device] = group;
        this.positionOf[device] = position;
      });
      return heap;
    });
  }

  /** first is the device of the group that is free first, NONE where none takes work. */
  first(group: number): number {
    const device = this.heaps[group]?.[0];
    return device === undefined || this.usable[device] === 0 ? NONE : device;
  }

  setFree(device: number, at: number): void {
    this.free[device] = at;
    this.moved(device);
  }

  setUsable(device: number, usable: boolean): void {
    this.usable[device] = usable ? 1 : 0;
    this.moved(device);
  }

  /** moved restores the order of the heap after the key of a device has changed. */
  private moved(device: number): void {
    const heap = this.heaps[this.heapOf[device] as number] as Int32Array;
    const start = this.positionOf[device] as number;
    const hole = this.sinks(heap, this.rises(heap, start, device), device);
    this.put(heap, hole, device);
  }

  private rises(heap: Int32Array, from: number, device: number): number {
    let hole = from;
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      if (!this.isBefore(device, heap[parent] as number)) break;
      this.put(heap, hole, heap[parent] as number);
      hole = parent;
    }
    return hole;
  }

  private sinks(heap: Int32Array, from: number, device: number): number {
    let hole = from;
    for (let child = 2 * hole + 1; child < heap.length; child = 2 * hole + 1) {
      if (child + 1 < heap.length && this.isBefore(heap[child + 1] as number, heap[child] as number))
        child += 1;
      if (!this.isBefore(heap[child] as number, device)) break;
      this.put(heap, hole, heap[child] as number);
      hole = child;
    }
    return hole;
  }

  private put(heap: Int32Array, position: number, device: number): void {
    heap[position] = device;
    this.positionOf[device] = position;
  }

  private isBefore(device: number, other: number): boolean {
    const key = this.keyOf(device);
    const otherKey = this.keyOf(other);
    return key < otherKey || (key === otherKey && device < other);
  }

  private keyOf(device: number): number {
    return this.usable[device] === 1 ? (this.free[device] as number) : NEVER;
  }
}
