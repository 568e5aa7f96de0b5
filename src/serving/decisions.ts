import { grownColumn } from '../collections/index.js';

/**
 * Decision numbers the kinds of decisions, and gives the meaning of the numbers a to d for each kind (docs/design.md,
 * "One core, two drivers").
 */
export const Decision = {
  /** The device runs the batch: a = batch, b = device. A device runs the batches it is handed in that order. */
  execute: 1,
  /**
   * The tensors of the batch are sent to the next pool: a = batch, b = sending device, c = receiving device
   * (−1: not chosen yet). A transfer takes the sender's uplink and the receiver's downlink together, and a link serves
   * the transfers it is handed in that order. A transfer that takes no time takes no link.
   */
  transfer: 2,
  /** The request has ended with results, or with a failure: a = request, b = an Answer. */
  answer: 3,
  /**
   * The request is dropped: a = request, b = a DropReason by its number, c = the pool it stood at, or −1 at
   * the entry.
   */
  drop: 4,
  /** The driver calls `due` at time a. This replaces the time asked for before. */
  wakeAt: 5,
  /** The driver brings a standby device up: a = device. It tells `deviceUp` once the device can take work. */
  activate: 6,
  /**
   * The device is to be put on standby: a = device. It ends the batch that it runs, which is reported as ever. Batches that
   * it was handed and has not begun are taken back: the core has queued their tasks elsewhere.
   */
  retire: 7,
  /** Another gear is active: a = the gear. The driver need do nothing. */
  shift: 8,
  /**
   * The task is put into the batch that its device executes after the one that it executes now: a = task, b = pool. The
   * driver need do nothing.
   */
  collect: 9,
  /**
   * The device loads a component while it goes on executing others: a = device, b = the pool, c = 1 where it comes from the
   * disk of its server, 0 where from its memory. The driver tells `loaded`.
   */
  load: 10,
  /** The device forgets a component: a = device, b = the pool. */
  evict: 11,
  /**
   * The output of a task is sent to where it is needed: a = the fetch, b = the device where it lies, c = the device that it is
   * for, d = the task; a device of −1 is the front, where programs run. The driver tells `fetched`.
   */
  fetch: 12,
  /**
   * The output of a task leaves a device that has no room for it: a = device, b = the task, c = 1 where it moves to the
   * front, and 0 where it lies elsewhere too.
   */
  spill: 13,
} as const;
export type Decision = (typeof Decision)[keyof typeof Decision];

/** Answer says how a request ended that is answered. */
export const Answer = { inTime: 0, late: 1, failed: 2 } as const;
export type Answer = (typeof Answer)[keyof typeof Answer];

/** DROP_REASONS names the reasons for a drop, by number; docs/metrics.md defines them. */
export const DROP_REASONS = ['deadline', 'device-down', 'queue-full', 'draining', 'overload'] as const;
export type DropReason = (typeof DROP_REASONS)[number];
/** DropCode gives the numbers of the reasons: indices into DROP_REASONS. */
export const DropCode = { deadline: 0, deviceDown: 1, queueFull: 2, draining: 3, overload: 4 } as const;
export type DropCode = (typeof DropCode)[keyof typeof DropCode];

const WIDTH = 5;

/**
 * Decisions is the buffer that a core appends its decisions to, in order. The driver owns it, reads it and
 * clears it. A decision is five numbers in one typed array, so none is allocated.
 */
export class Decisions {
  private rows = new Float64Array(64 * WIDTH);
  private used = 0;

  get count(): number {
    return this.used;
  }

  clear(): void {
    this.used = 0;
  }

  push(kind: Decision, a: number, b = 0, c = 0, d = 0): void {
    const at = this.used * WIDTH;
    if (at === this.rows.length) this.rows = grownColumn(this.rows, 2 * at);
    this.rows[at] = kind;
    this.rows[at + 1] = a;
    this.rows[at + 2] = b;
    this.rows[at + 3] = c;
    this.rows[at + 4] = d;
    this.used += 1;
  }

  kind(i: number): Decision {
    return this.rows[i * WIDTH] as Decision;
  }

  a(i: number): number {
    return this.rows[i * WIDTH + 1] as number;
  }

  b(i: number): number {
    return this.rows[i * WIDTH + 2] as number;
  }

  c(i: number): number {
    return this.rows[i * WIDTH + 3] as number;
  }

  d(i: number): number {
    return this.rows[i * WIDTH + 4] as number;
  }
}
