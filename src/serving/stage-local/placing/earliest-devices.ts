import { itemAt, NONE as SHARED_NONE } from '../../../collections/index.js';

const NONE = SHARED_NONE;

const NEVER = Number.POSITIVE_INFINITY;

/**
 * EarliestDevices finds the device of each group that is free first; of several, it takes the one with the
 * lowest index. Each group is a binary heap. A device that takes no work is never free. A change costs O(log
 * n) for each group of the device and allocates nothing.
 */
export class EarliestDevices {
  /** `free` is when each device is free. While a device takes no work, its last value is kept. */
  readonly free: Float64Array;
  /** The members of the groups are numbered device by device: those of device d begin at `firstOf[d]`. */
  private readonly firstOf: Int32Array;
  private readonly deviceOf: Int32Array;
  private readonly groupOf: Int32Array;
  private readonly positionOf: Int32Array;
  private readonly usable: Uint8Array;
  private readonly heaps: Int32Array[];

  /** @param groups the devices of each group, each at most once */
  constructor(devices: number, groups: readonly (readonly number[])[]) {
    this.free = new Float64Array(devices);
    const groupsOf = Array.from({ length: devices }, (): number[] => []);
    groups.forEach((members, group) => {
      for (const device of members) groupsOf[device]?.push(group);
    });
    this.firstOf = new Int32Array(devices + 1);
    groupsOf.forEach((of, device) => {
      this.firstOf[device + 1] = itemAt(this.firstOf, device) + of.length;
    });
    this.deviceOf = Int32Array.from(groupsOf.flatMap((of, device) => of.map(() => device)));
    this.groupOf = Int32Array.from(groupsOf.flat());
    this.positionOf = new Int32Array(this.deviceOf.length);
    this.usable = new Uint8Array(this.deviceOf.length);
    this.heaps = groups.map((members, group) =>
      Int32Array.from(members, (device, position) => {
        const member = itemAt(this.firstOf, device) + itemAt(groupsOf, device).indexOf(group);
        this.positionOf[member] = position;
        return member;
      }),
    );
  }

  /** first is the device of the group that is free first, NONE where none takes work. */
  first(group: number): number {
    const member = this.heaps[group]?.[0];
    return member === undefined || this.usable[member] === 0 ? NONE : (this.deviceOf[member] as number);
  }

  setFree(device: number, at: number): void {
    this.free[device] = at;
    const end = this.firstOf[device + 1] as number;
    for (let member = this.firstOf[device] as number; member < end; member++) this.moved(member);
  }

  /** setUsable says whether a device takes work of a group, or of all its groups where none is named. */
  setUsable(device: number, usable: boolean, group?: number): void {
    const end = this.firstOf[device + 1] as number;
    for (let member = this.firstOf[device] as number; member < end; member++) {
      if (group !== undefined && this.groupOf[member] !== group) continue;
      this.usable[member] = usable ? 1 : 0;
      this.moved(member);
    }
  }

  /** moved restores the order of the heap after the key of a member has changed. */
  private moved(member: number): void {
    const heap = this.heaps[this.groupOf[member] as number] as Int32Array;
    const start = this.positionOf[member] as number;
    const hole = this.sinks(heap, this.rises(heap, start, member), member);
    this.put(heap, hole, member);
  }

  private rises(heap: Int32Array, from: number, member: number): number {
    let hole = from;
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      if (!this.isBefore(member, heap[parent] as number)) break;
      this.put(heap, hole, heap[parent] as number);
      hole = parent;
    }
    return hole;
  }

  private sinks(heap: Int32Array, from: number, member: number): number {
    let hole = from;
    for (let child = 2 * hole + 1; child < heap.length; child = 2 * hole + 1) {
      if (child + 1 < heap.length && this.isBefore(heap[child + 1] as number, heap[child] as number))
        child += 1;
      if (!this.isBefore(heap[child] as number, member)) break;
      this.put(heap, hole, heap[child] as number);
      hole = child;
    }
    return hole;
  }

  private put(heap: Int32Array, position: number, member: number): void {
    heap[position] = member;
    this.positionOf[member] = position;
  }

  /** isBefore orders members of one group by when they are free, and then by their devices, as they are numbered. */
  private isBefore(member: number, other: number): boolean {
    const key = this.keyOf(member);
    const otherKey = this.keyOf(other);
    return key < otherKey || (key === otherKey && member < other);
  }

  private keyOf(member: number): number {
    return this.usable[member] === 1 ? (this.free[this.deviceOf[member] as number] as number) : NEVER;
  }
}
