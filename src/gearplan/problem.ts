/** FamilyModel is a model of a family as it runs on a class of devices. */
export interface FamilyModel {
  readonly name: string;
  /** The execution time of a batch of b at index b − 1. It may fall where the batch grows. */
  readonly latencyNs: Float64Array;
  readonly memoryBytes: number;
  /** 1 where the model is right about the sample. */
  readonly correct: Uint8Array;
  readonly certainty: Float64Array;
}

/** LoadRange is a range of loads and the share of time in which the load is there. */
export interface LoadRange {
  readonly fromRps: number;
  readonly toRps: number;
  readonly share: number;
}

/** GearProblem is what a gear plan is searched for: like devices, on which any model that fits may be placed. */
export interface GearProblem {
  /** The cheapest first: by the least time for a sample (`leastWorkNs`). */
  readonly models: readonly FamilyModel[];
  readonly devices: number;
  /** The memory of a device; Infinity where it is not known. */
  readonly memoryBytes: number;
  readonly ranges: readonly LoadRange[];
  /** `quantile` of the requests are to be answered within `latencyNs`, at every load; Infinity where nothing is asked. */
  readonly latencyNs: number;
  readonly quantile: number;
  /** By range, how much more load a gear is planned for than is promised, as a share; 0 where absent. */
  readonly headroom?: readonly number[];
  /** Thresholds are chosen among this many quantiles of each model's certainties. */
  readonly thresholds: number;
}

/** leastWorkNs is the least time that a model takes for a sample: with its best batch. */
export function leastWorkNs({ latencyNs }: Pick<FamilyModel, 'latencyNs'>): number {
  return latencyNs.reduce((least, ns, i) => Math.min(least, ns / (i + 1)), Number.POSITIVE_INFINITY);
}

/** shortestNs is the shortest time that a model takes for a batch. */
export function shortestNs({ latencyNs }: Pick<FamilyModel, 'latencyNs'>): number {
  return latencyNs.reduce((least, ns) => Math.min(least, ns), Number.POSITIVE_INFINITY);
}
