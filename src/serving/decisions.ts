import { grownColumn } from '../collections/index.js';

/** What the core says (DESIGN.md, idea 1). */
export const Decision = {
  /**
   * Run the batch on its device: a = batch, b = device, c = not before this time (0: at once). A device runs what it is handed in
   * that order.
   */
  execute: 1,
  /**
   * Move the batch's tensors on to the next pool: a = batch, b = sending device, c = receiving device (−1: none yet), d = not
   * before this time (0: at once). It takes the sender's uplink and the receiver's downlink together; a link serves what it is
   * handed in that order. One that takes no time takes no link.
   */
  transfer: 2,
  /** The request has ended with results, or with a failure: a = request, b = an Answer. */
  answer: 3,
  /** The request is given up: a = request, b = a DropReason, c = the pool it stood at, or −1 at the entry. */
  drop: 4,
  /** Say `due` at time a; it replaces the time asked for before. */
  wakeAt: 5,
} as const;

export const Answer = { inTime: 0, late: 1, failed: 2 } as const;
export type Answer = (typeof Answer)[keyof typeof Answer];

/** Why a request is dropped, by number; the names are those of docs/metrics.md. */
export const DROP_REASONS = ['deadline', 'device-down', 'queue-full', 'draining', 'overload'] as const;
export type DropReason = (typeof DROP_REASONS)[number];
export const DropCode = { deadline: 0, deviceDown: 1, queueFull: 2, draining: 3, overload: 4 } as const;

const WIDTH = 5;

/** The buffer decisions are appended to, in order. The driver owns it, reads it and clears it; nothing is allocated per decision. */
export class Decisions {
  private rows = new Float64Array(64 * WIDTH);
  private used = 0;

  get count(): number {
    return this.used;
  }

  clear(): void {
    this.used = 0;
  }

  push(kind: number, a: number, b = 0, c = 0, d = 0): void {
    const at = this.used * WIDTH;
    if (at === this.rows.length) this.rows = grownColumn(this.rows, 2 * at);
    this.rows[at] = kind;
    this.rows[at + 1] = a;
    this.rows[at + 2] = b;
    this.rows[at + 3] = c;
    this.rows[at + 4] = d;
    this.used += 1;
  }

  kind(i: number): number {
    return this.rows[i * WIDTH] as number;
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
