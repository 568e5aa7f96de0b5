/**
 * This room groups layers into blocks (PPipe, section 5.2), so that a planner chooses among few, balanced
 * cuts that few bytes cross.
 *
 * It takes the latency of every layer on each device class and the bytes that cross after each layer. It says
 * where each block ends, and what it had to give up. It measures nothing, reads no model and moves no tensor.
 * Start reading at `partition-layers.ts`, then `greedy.ts`.
 */

export { balanceOf, crossingBytes } from './figures.js';
export { DEFAULT_BLOCKS, partitionLayers } from './partition-layers.js';
export type { PartitionInput, Partitioning, PartitionMethod, PartitionOptions } from './types.js';
