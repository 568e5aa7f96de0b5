import { grownCapacity, grownColumn, NONE } from '../collections/index.js';

/** Virtual devices: each runs what it is handed in that order, one batch at a time, none before its time. */
export class VirtualDevices {
  /** Batch on each device, NONE where idle. */
  readonly running: Int32Array;
  private readonly first: Int32Array;
  private readonly last: Int32Array;

  /** Of each batch. */
  handedAt = new Float64Array(0);
  startedAt = new Float64Array(0);
  private notBefore = new Float64Array(0);
  private next = new Int32Array(0);

  constructor(count: number) {
    this.running = new Int32Array(count).fill(NONE);
    this.first = new Int32Array(count).fill(NONE);
    this.last = new Int32Array(count).fill(NONE);
  }

  /** @returns whether the batch is now the first that waits on an idle device */
  hand(at: number, batch: number, device: number, notBefore: number): boolean {
    if (batch >= this.next.length) this.grow(batch);
    this.handedAt[batch] = at;
    this.notBefore[batch] = notBefore;
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

  /** The batch that an idle device runs next; NONE where none waits. */
  waiting(device: number): number {
    return this.first[device] as number;
  }

  /** Its time: earlier it must not start. */
  earliest(batch: number): number {
    return this.notBefore[batch] as number;
  }

  /** An idle device begins the first batch that waits for it. */
  begin(at: number, device: number): number {
    const batch = this.first[device] as number;
    const behind = this.next[batch] as number;
    this.first[device] = behind;
    if (behind === NONE) this.last[device] = NONE;
    this.running[device] = batch;
    this.startedAt[batch] = at;
    return batch;
  }

  /** @returns the batch that ran */
  end(device: number): number {
    const batch = this.running[device] as number;
    this.running[device] = NONE;
    return batch;
  }

  private grow(batch: number): void {
    const capacity = grownCapacity(this.next.length, batch + 1);
    this.handedAt = grownColumn(this.handedAt, capacity);
    this.startedAt = grownColumn(this.startedAt, capacity);
    this.notBefore = grownColumn(this.notBefore, capacity);
    this.next = grownColumn(this.next, capacity);
  }
}
