/** PartitionMethod names a way to group layers: see `greedyEnds` and `minTransferEnds`. */
export type PartitionMethod = 'greedy' | 'min-transfer';

/** PartitionInput is a model as partitioning sees it: n layers in order. */
export interface PartitionInput {
  /** Microseconds per layer at one batch size, by device class. Every list has one figure per layer. */
  layerLatencyUs: Readonly<Record<string, readonly number[]>>;
  /**
   * The bytes that cross for one request after each layer; undefined where the model cannot be cut. The last
   * one is not read.
   */
  cutBytes: readonly (number | undefined)[];
}

/** PartitionOptions says how layers are grouped into blocks. */
export interface PartitionOptions {
  /** The method; by default `greedy`, which is the paper's. */
  method?: PartitionMethod;
  /** The number of blocks wanted; 10 by default. */
  blocks?: number;
  /** The device class whose latencies `greedy` divides; by default the first of the input. */
  device?: string;
}

/** Partitioning says where the blocks of a model end. */
export interface Partitioning {
  /** The ends of the blocks: one past the last layer of each. The last end is the number of layers. */
  ends: number[];
  method: PartitionMethod;
  /** The class whose latencies were divided; only for `greedy` (`min-transfer` keeps its bounds on all classes). */
  device?: string;
  /**
   * The bounds that `min-transfer` used, as multiples of the average block on every device. It is absent when
   * 0.5 and 1.5 were attainable.
   */
  relaxation?: { lower: number; upper: number };
  /** Notes for a person: fewer blocks than wanted and why, classes whose layers take 0 µs, or looser bounds. */
  notes: string[];
}
