/** Rows of a profile at one granularity. */
export interface ProfileRows {
  readonly units: number;
  readonly cutBytes: Float64Array;
  readonly weightBytes: readonly number[];
  latenciesUs(className: string, virtual: number, batch: number): readonly number[] | undefined;
}
