/**
 * This room holds typed columns that grow, slots that are used again, linked lists of integers, and evenly
 * spaced points.
 *
 * It takes integers and capacities, and gives them back by index. It does not know what the integers stand
 * for. Start reading at `columns.ts`.
 */
export { FlagColumn, Float64Column, grownCapacity, grownColumn, Int32Column } from './columns.js';
export { evenlySpaced } from './evenly-spaced.js';
export { IntList } from './int-list.js';
export { Lists, NONE } from './lists.js';
export { Slots } from './slots.js';
