import type { Measure } from '../results/result.js';

/** Storm is what a storm gives: a table to print, its figures, and what did not hold. */
export interface Storm {
  readonly table: string;
  readonly measures: readonly Measure[];
  readonly rows: unknown;
  readonly faults: readonly string[];
}
