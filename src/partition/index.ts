/**
 * Layers grouped into blocks (PPipe §5.2): where to cut a model so that a planner has few, balanced, cheap choices.
 *
 * In go the latency of every layer per device class and the bytes that cross after it; out comes where each block ends,
 * with what had to be given up said. Pure: it measures nothing, reads no model and moves no tensor.
 */

export { balanceOf, crossingBytes } from './figures.js';
export { DEFAULT_BLOCKS, partitionLayers } from './partition-layers.js';
export type { PartitionInput, Partitioning, PartitionMethod, PartitionOptions } from './types.js';
