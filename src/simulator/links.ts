import { grownCapacity, grownColumn, NONE as SHARED_NONE } from '../collections/index.js';
import type { Links } from '../serving/index.js';

const NONE = SHARED_NONE;

/**
 * VirtualLinks are the links of a simulation. A transfer takes its sender's uplink and its receiver's
 * downlink (where known) together. Each link serves the transfers it is handed in that order, so a transfer
 * whose other link is taken keeps those behind it waiting. A transfer that takes no time takes no link.
 */
export class VirtualLinks {
  private readonly up: Lane;
  private readonly down: Lane;

  /** `handedAt`, `startedAt`, `from` and `to` are of each batch that is on its way or waits for its links. */
  handedAt = new Float64Array(0);
  startedAt = new Float64Array(0);
  from = new Int32Array(0);
  to = new Int32Array(0);
  /** `takesNs` is how long each transfer takes. */
  takesNs = new Float64Array(0);
  private isOnItsWay = new Uint8Array(0);

  constructor(private readonly links: Links) {
    this.up = new Lane(links.uplinkCount);
    this.down = new Lane(links.downlinkCount);
  }

  /** hand puts a transfer at the end of the queues of its links. */
  hand(at: number, batch: number, from: number, to: number, takesNs: number): void {
    if (batch >= this.from.length) this.grow(batch);
    this.handedAt[batch] = at;
    this.isOnItsWay[batch] = 0;
    this.from[batch] = from;
    this.to[batch] = to;
    this.takesNs[batch] = takesNs;
    if (takesNs === 0) return;
    this.up.push(this.links.uplinkOf[from] as number, batch);
    if (to !== NONE) this.down.push(this.links.downlinkOf[to] as number, batch);
  }

  /** isNext returns whether a batch is at the head of both its links and has not begun its way. */
  isNext(batch: number): boolean {
    if (this.isOnItsWay[batch] === 1) return false;
    if (this.takesNs[batch] === 0) return true;
    const to = this.to[batch] as number;
    return (
      this.up.first(this.uplinkOf(batch)) === batch &&
      (to === NONE || this.down.first(this.links.downlinkOf[to] as number) === batch)
    );
  }

  /** begin notes that a batch is on its way. */
  begin(at: number, batch: number): void {
    this.isOnItsWay[batch] = 1;
    this.startedAt[batch] = at;
  }

  /** end takes an arrived batch off its links, which are then free for the next. */
  end(batch: number): void {
    if (this.takesNs[batch] === 0) return;
    const to = this.to[batch] as number;
    this.up.shift(this.uplinkOf(batch));
    if (to !== NONE) this.down.shift(this.links.downlinkOf[to] as number);
  }

  /** nextOnUplink is the first batch at the uplink that an ended batch had, NONE where none waits. */
  nextOnUplink(ended: number): number {
    return this.up.first(this.uplinkOf(ended));
  }

  /**
   * nextOnDownlink is the first batch at the downlink that an ended batch had, NONE where none waits or it
   * had none.
   */
  nextOnDownlink(ended: number): number {
    const to = this.to[ended] as number;
    return to === NONE ? NONE : this.down.first(this.links.downlinkOf[to] as number);
  }

  private uplinkOf(batch: number): number {
    return this.links.uplinkOf[this.from[batch] as number] as number;
  }

  private grow(batch: number): void {
    const capacity = grownCapacity(this.from.length, batch + 1);
    this.handedAt = grownColumn(this.handedAt, capacity);
    this.startedAt = grownColumn(this.startedAt, capacity);
    this.takesNs = grownColumn(this.takesNs, capacity);
    this.isOnItsWay = grownColumn(this.isOnItsWay, capacity);
    this.from = grownColumn(this.from, capacity);
    this.to = grownColumn(this.to, capacity);
  }
}

/**
 * Lane holds first-in-first-out lists of batches, one per link of a direction. The first batch of a list is
 * on the link, or is the next to be.
 */
class Lane {
  private readonly head: Int32Array;
  private readonly tail: Int32Array;
  private next = new Int32Array(0);

  constructor(links: number) {
    this.head = new Int32Array(links).fill(NONE);
    this.tail = new Int32Array(links).fill(NONE);
  }

  first(link: number): number {
    return this.head[link] as number;
  }

  push(link: number, batch: number): void {
    if (batch >= this.next.length)
      this.next = grownColumn(this.next, grownCapacity(this.next.length, batch + 1));
    this.next[batch] = NONE;
    const behind = this.tail[link] as number;
    if (behind === NONE) this.head[link] = batch;
    else this.next[behind] = batch;
    this.tail[link] = batch;
  }

  shift(link: number): void {
    const next = this.next[this.head[link] as number] as number;
    this.head[link] = next;
    if (next === NONE) this.tail[link] = NONE;
  }
}
