import type { Measure } from '../results/result.js';

/** Storm is the result of a storm: a table to print, its figures, and the rules that did not hold. */
export interface Storm {
  readonly table: string;
  readonly measures: readonly Measure[];
  readonly rows: unknown;
  readonly faults: readonly string[];
}
