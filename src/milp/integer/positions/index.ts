/**
 * This folder searches exactly for plans in which the pools of a position share whole GPUs.
 *
 * `positions.ts` searches one model's plans, `divide-positions.ts` corrects the tables of several models until a division
 * is one by positions, and `exact-positions.ts` begins both from the plans that bound the best one.
 */
export { exactPositions } from './exact-positions.js';
