/**
 * This folder holds the tables of one model: its highest rate for every amount of GPUs at once.
 *
 * `grid.ts` numbers the amounts, `model-grid.ts` fills a table by dynamic programming from the best single columns
 * (`singles.ts`), and `whole-gpus.ts` reads it at whole GPUs. A table does not know the other models of the cluster.
 */
export { type Grid, gridOf, leastCommonMultiple, nextAmounts, worthOf } from './grid.js';
export { ModelGrid, virtualGpusOf } from './model-grid.js';
export {
  atWholeGpus,
  type Topped,
  topped,
  unitTable,
  type WholeGpuTable,
  wholeGpuTable,
} from './whole-gpus.js';
