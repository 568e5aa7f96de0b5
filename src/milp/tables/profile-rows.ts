/** ProfileRows holds the rows of a profile by blocks or by layers. */
export interface ProfileRows {
  readonly units: number;
  readonly cutBytes: Float64Array;
  readonly weightBytes: readonly number[];
  latenciesUs(className: string, virtual: number, batch: number): readonly number[] | undefined;
}
