/**
 * This folder finds the best column on given whole numbers of GPUs, where columns are too many to list.
 *
 * `slot-sequences.ts` bounds what each sequence of slots can give, and `whole-gpu-pricing.ts` searches the sequences that
 * may still be better than what is known.
 */
export { type SlotSequence, slotSequences } from './slot-sequences.js';
export { WholeGpuPricing } from './whole-gpu-pricing.js';
