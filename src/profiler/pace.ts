import { monotonicNs } from '../execution/index.js';
import type { Cells, ProgressEvent } from './types.js';

/** Pace reports how much of a number of measurements of about equal length is done. */
export class Pace {
  private readonly startedNs = monotonicNs();
  private finished = 0;
  private shown = 0;

  constructor(
    private readonly total: number,
    private readonly onProgress: ((event: ProgressEvent) => void) | undefined,
  ) {}

  /** Reports that this fraction of the cells that are being measured together is done. */
  tell(cells: Cells, fraction: number): void {
    const exact = this.finished + cells.count * fraction;
    this.shown = Math.max(this.shown, Math.floor(exact));
    const elapsedMs = (monotonicNs() - this.startedNs) / 1e6;
    const leftMs = exact === 0 ? undefined : Math.round((elapsedMs / exact) * (this.total - exact));
    const { total } = this;
    this.onProgress?.({ kind: 'progress', done: this.shown, total, leftMs, cells });
  }

  /** Counts these cells as done, or given up. */
  finish({ count }: Cells): void {
    this.finished += count;
  }
}
