import { availableMemoryBytes, heldBytes, memoryText } from './memory.js';

/**
 * The guard looks this often. A single thread can take 2 GB/s, so that 100 MB may be taken between two looks.
 */
const INTERVAL_MS = 50;
/** This share of the memory that is available at the start is left to the rest of the machine, but at most 2 GiB. */
const RESERVE_SHARE = 0.1;
const MOST_RESERVE_BYTES = 2 * 2 ** 30;

/** MemoryGuardOptions says how much memory the watched processes may hold together. */
export interface MemoryGuardOptions {
  /** The most that the processes may hold; by default what is available at the start, less 10 % (at most 2 GiB). */
  readonly limitBytes?: number | undefined;
  /**
   * These functions give the bytes that a process holds, and those that are available; by default they ask
   * the system.
   */
  readonly held?: (pid: number) => number | undefined;
  readonly available?: () => number;
}

interface Watched {
  readonly kill: () => void;
  bytes: number;
  /** The reason for which the guard killed it. */
  why?: string;
}

/**
 * MemoryGuard keeps child processes from taking memory until the system kills a process of its own choice. It kills the
 * largest child when all together pass the limit, or when the machine has less left than 5 % of what was available at
 * the start (at most 1 GiB). It looks every 50 ms while there are children, and kills no other while the one that it
 * killed is the largest. Where the system does not say what another process holds (all but Linux), only the machine's
 * memory counts.
 */
export class MemoryGuard {
  readonly limitBytes: number;
  private readonly given: boolean;
  private readonly leastLeftBytes: number;
  private readonly held: (pid: number) => number | undefined;
  private readonly available: () => number;
  private readonly watched = new Map<number, Watched>();
  private timer: NodeJS.Timeout | undefined;

  constructor({ limitBytes, held = heldBytes, available = availableMemoryBytes }: MemoryGuardOptions = {}) {
    const now = available();
    const reserve = Math.min(MOST_RESERVE_BYTES, now * RESERVE_SHARE);
    this.limitBytes = limitBytes ?? now - reserve;
    this.given = limitBytes !== undefined;
    this.leastLeftBytes = reserve / 2;
    this.held = held;
    this.available = available;
  }

  /** The limit in words. */
  get limitText(): string {
    return `${memoryText(this.limitBytes)} ${this.given ? 'are allowed' : 'are available here'}`;
  }

  watch(pid: number, kill: () => void): void {
    this.watched.set(pid, { kill, bytes: 0 });
    this.timer ??= setInterval(() => this.look(), INTERVAL_MS).unref();
  }

  /**
   * unwatch ends the watch of a process.
   * @returns why the guard killed it, if it did, and the bytes it held at the last look
   */
  unwatch(pid: number): { readonly why: string | undefined; readonly bytes: number } {
    const { why, bytes } = this.watched.get(pid) ?? { why: undefined, bytes: 0 };
    this.watched.delete(pid);
    if (this.watched.size === 0) {
      clearInterval(this.timer);
      this.timer = undefined;
    }
    return { why, bytes };
  }

  /** look looks once, and kills the largest process if need be. */
  look(): void {
    let total = 0;
    for (const [pid, watched] of this.watched) {
      watched.bytes = this.held(pid) ?? watched.bytes;
      total += watched.bytes;
    }
    const largest = [...this.watched.values()].reduce<Watched | undefined>(
      (most, one) => (most === undefined || one.bytes > most.bytes ? one : most),
      undefined,
    );
    if (largest === undefined || largest.why !== undefined) return;
    const why = this.fault(total, largest);
    if (why === undefined) return;
    largest.why = why;
    largest.kill();
  }

  private fault(total: number, { bytes }: Watched): string | undefined {
    const all = this.watched.size === 1 ? '' : ` (${memoryText(total)} with the others)`;
    const took = bytes === 0 ? '' : `its process took ${memoryText(bytes)}${all}, and `;
    if (total > this.limitBytes) return `memory ran out: ${took}${this.limitText}`;
    const left = this.available();
    if (left >= this.leastLeftBytes) return undefined;
    return `memory ran out: ${took}${memoryText(left)} were left on this machine`;
  }
}
