import type { Stop } from '../../work.js';
import type { WholeGpuPricing } from '../pricing/index.js';

/** GridOptions says which states of a table are kept. */
export interface GridOptions {
  /** If true, partitions come in whole GPUs. */
  readonly pool: boolean;
  /** The price of a GPU by class in requests per second: LP duals over the model's own price. */
  readonly gpuPrices: readonly number[];
  /** A state that loses more is not kept; Infinity keeps all. */
  readonly budget: number;
  /** stop is asked from time to time; true leaves the table unfinished and unfit for use. */
  readonly stop?: Stop;
  /** If columns are too many to list, `pricing` finds the best of all of them. Each one is added to the set. */
  readonly pricing?: WholeGpuPricing | undefined;
}
