import { monotonicNs } from '../execution/index.js';
import type { Cell, ProgressEvent } from './types.js';

/** Tells how far a count of measurements of about equal length has come. */
export class Pace {
  readonly #startedNs = monotonicNs();
  #begun = 0;

  constructor(
    private readonly total: number,
    private readonly onProgress: ((event: ProgressEvent) => void) | undefined,
  ) {}

  /** The next measurement begins. */
  next(cell: Cell): void {
    const done = this.#begun++;
    const elapsedMs = (monotonicNs() - this.#startedNs) / 1e6;
    const leftMs = done === 0 ? 0 : (elapsedMs / done) * (this.total - done);
    this.onProgress?.({ kind: 'progress', done, total: this.total, leftMs: Math.round(leftMs), cell });
  }
}
