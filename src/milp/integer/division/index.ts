/**
 * This folder divides the GPUs of a cluster among models by the tables of their highest rates.
 *
 * `divide-by-weight.ts` finds the highest least throughput/weight, `divide-by-price.ts` the least price of given rates, and
 * `share-table.ts` divides one model's GPUs between the columns that use a class and the others, for its minimum share.
 */
export { divideByPrice } from './divide-by-price.js';
export { divideByWeight } from './divide-by-weight.js';
export type { Division } from './division.js';
export { heldToShares, type MinShare, minSharesOf, ShareTable, sharePrices } from './share-table.js';
