import { monotonicNs } from '../execution/index.js';
import type { Cells, ProgressEvent } from './types.js';

/** Tells how far a count of measurements of about equal length has come. */
export class Pace {
  readonly #startedNs = monotonicNs();
  #finished = 0;
  #shown = 0;

  constructor(
    private readonly total: number,
    private readonly onProgress: ((event: ProgressEvent) => void) | undefined,
  ) {}

  /** Of the cells that are being measured together, that part is done. */
  tell(cells: Cells, fraction: number): void {
    const exact = this.#finished + cells.count * fraction;
    this.#shown = Math.max(this.#shown, Math.floor(exact));
    const elapsedMs = (monotonicNs() - this.#startedNs) / 1e6;
    const leftMs = exact === 0 ? undefined : Math.round((elapsedMs / exact) * (this.total - exact));
    const { total } = this;
    this.onProgress?.({ kind: 'progress', done: this.#shown, total, leftMs, cells });
  }

  /** They are done, or given up. */
  finish({ count }: Cells): void {
    this.#finished += count;
  }
}
