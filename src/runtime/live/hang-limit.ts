import { largestOf } from '../../collections/index.js';
import type { Pool } from '../../serving/index.js';

/** An execution hangs once it takes this many times what it is expected to, and at least as long as this. */
const TIMES_EXPECTED = 10;
const LEAST_MS = 1000;
/** The weight of the last execution in the average. */
const LAST_WEIGHT = 0.1;

/**
 * HangLimit says from when on an execution of a pool is taken to hang: after ten times what is expected, which is the
 * planned time of a full batch, or what batches have taken on average where that is longer, and not before a second.
 * A load beyond the plan makes queues longer, not executions, so that it is no hang.
 */
export class HangLimit {
  private readonly plannedMs: number;
  private averageMs = 0;

  constructor({ latencyNs, classes = [] }: Pick<Pool, 'latencyNs' | 'classes'>) {
    const planned = [latencyNs, ...classes.map((one) => one.latencyNs)].map((times) => times.at(-1) ?? 0);
    this.plannedMs = largestOf(planned) / 1e6;
  }

  get ms(): number {
    return Math.max(LEAST_MS, TIMES_EXPECTED * Math.max(this.plannedMs, this.averageMs));
  }

  /**
   * ran counts an execution that ended. An execution that did hang counts as the limit, and so does not raise
   * it for long.
   */
  ran(ms: number): void {
    this.averageMs += LAST_WEIGHT * (Math.min(ms, this.ms) - this.averageMs);
  }
}
