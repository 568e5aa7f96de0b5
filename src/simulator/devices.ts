import { grownCapacity, grownColumn, NONE as SHARED_NONE } from '../collections/index.js';

const NONE = SHARED_NONE;

/**
 * VirtualDevices are the devices of a simulation. Each runs the batches it is handed in that order, one at a time.
 */
export class VirtualDevices {
  /** `running` is the batch on each device, NONE where it is idle. */
  readonly running: Int32Array;
  /** `first` and `last` are the ends of the queue of each device, which `next` links. */
  private readonly first: Int32Array;
  private readonly last: Int32Array;

  /** `handedAt` and `startedAt` are when each batch was handed to its device, and when it started. */
  handedAt = new Float64Array(0);
  startedAt = new Float64Array(0);
  private next = new Int32Array(0);

  constructor(count: number) {
    this.running = new Int32Array(count).fill(NONE);
    this.first = new Int32Array(count).fill(NONE);
    this.last = new Int32Array(count).fill(NONE);
  }

  /**
   * hand puts a batch at the end of a device's queue.
   * @returns whether the batch is now the first that waits on an idle device
   */
  hand(at: number, batch: number, device: number): boolean {
    if (batch >= this.next.length) this.grow(batch);
    this.handedAt[batch] = at;
    this.next[batch] = NONE;
    const behind = this.last[device] as number;
    this.last[device] = batch;
    if (behind !== NONE) {
      this.next[behind] = batch;
      return false;
    }
    this.first[device] = batch;
    return this.running[device] === NONE;
  }

  /** waiting is the batch that the device runs next, NONE where none waits. */
  waiting(device: number): number {
    return this.first[device] as number;
  }

  /**
   * begin lets an idle device begin the first batch that waits for it.
   * @returns that batch
   */
  begin(at: number, device: number): number {
    const batch = this.first[device] as number;
    const behind = this.next[batch] as number;
    this.first[device] = behind;
    if (behind === NONE) this.last[device] = NONE;
    this.running[device] = batch;
    this.startedAt[batch] = at;
    return batch;
  }

  /** takeBack takes back the batches that were handed to a device and have not begun. */
  takeBack(device: number): void {
    this.first[device] = NONE;
    this.last[device] = NONE;
  }

  /**
   * end ends the execution on a device.
   * @returns the batch that ran
   */
  end(device: number): number {
    const batch = this.running[device] as number;
    this.running[device] = NONE;
    return batch;
  }

  private grow(batch: number): void {
    const capacity = grownCapacity(this.next.length, batch + 1);
    this.handedAt = grownColumn(this.handedAt, capacity);
    this.startedAt = grownColumn(this.startedAt, capacity);
    this.next = grownColumn(this.next, capacity);
  }
}
