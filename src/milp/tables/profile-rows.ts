import type { SpanLatencies } from './span-latencies.js';

/** ProfileRows holds the rows of a profile by blocks or by layers. */
export interface ProfileRows {
  readonly units: number;
  readonly cutBytes: Float64Array;
  readonly weightBytes: readonly number[];
  /** The latencies on 1/virtual of a class at a batch size; undefined if they were not measured. */
  latencies(className: string, virtual: number, batch: number): SpanLatencies | undefined;
}
