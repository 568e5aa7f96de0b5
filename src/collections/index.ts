/**
 * The room `collections` holds typed arrays that grow, slots that are used again, linked lists and
 * double-ended priority queues of integers, evenly spaced numbers, and work that is done piece by piece.
 *
 * They hold integers of a caller, whose meaning they do not know. Only `items.ts`, which reads one item of a list or
 * a map outside hot loops, checks that it is there. Nothing here does I/O.
 * Start with `columns.ts`.
 */

export { grownCapacity, grownColumn } from './columns.js';
export { evenlySpaced } from './evenly-spaced.js';
export { IntList } from './int-list.js';
export { integerRoot, powerOf } from './integer-root.js';
export { itemAt, lastOf, valueFor } from './items.js';
export { Lists, NONE } from './lists.js';
export { largestOf, pushAll, smallestOf } from './long-lists.js';
export { MinMaxHeaps } from './min-max-heaps.js';
export { nthSmallest } from './nth-smallest.js';
export { Slots } from './slots.js';
export { atOnce, type Steps, sorted } from './steps.js';
