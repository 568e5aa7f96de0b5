import type { CascadeMethod } from '../formats/index.js';

/** GearMethod is a way to search the gears of most accuracy. */
export type GearMethod = CascadeMethod | 'loop';

/** The longest cascade that is looked at: the number of combinations grows with the thresholds to this power less one. */
export const MOST_STEPS = 4;

/** isOfSingles says whether a method knows no cascades, but only single models. */
export function isOfSingles(method: GearMethod): boolean {
  return method === 'dynba' || method === 'ms+';
}
