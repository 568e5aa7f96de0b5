export type PartitionMethod = 'greedy' | 'min-transfer';

/** A model as partitioning sees it: n layers in order. */
export interface PartitionInput {
  /** Microseconds per layer at one batch size, by device class; every list has one figure per layer. */
  layerLatencyUs: Readonly<Record<string, readonly number[]>>;
  /** Bytes that cross for one request when cut after the layer; undefined where it cannot be cut. The last is not read. */
  cutBytes: readonly (number | undefined)[];
}

export interface PartitionOptions {
  /** `greedy` (the paper's) unless given. */
  method?: PartitionMethod;
  /** How many blocks are wanted; 10 unless given, as the paper found a good balance. */
  blocks?: number;
  /** The device class whose latencies `greedy` divides; the first of the input unless given. */
  device?: string;
}

export interface Partitioning {
  /** One past the last layer of each block; the last is the number of layers. */
  ends: number[];
  method: PartitionMethod;
  /** The class whose latencies were divided; only for `greedy`. */
  device?: string;
  /**
   * The bounds that `min-transfer` used, as multiples of the average block on every device, where 0.5 and 1.5 were
   * not attainable.
   */
  relaxation?: { lower: number; upper: number };
  /** What a person should know: fewer blocks than wanted, and why. */
  notes: string[];
}
