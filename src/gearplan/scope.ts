import type { CascadeMethod, GearScope } from '../artifacts/index.js';
import type { GearProblem } from './problem.js';

/** GearMethod is a way to search the gears of most accuracy. */
export type GearMethod = CascadeMethod | 'loop';

/** The longest cascade that is looked at: the number of combinations grows with the thresholds to this power less one. */
export const MOST_STEPS = 4;

/** scopeOf says which cascades the proofs of a method are about. */
export function scopeOf(
  { models, thresholds }: Pick<GearProblem, 'models' | 'thresholds'>,
  method: GearMethod,
): GearScope {
  const mostModels = isOfSingles(method) ? 1 : Math.min(MOST_STEPS, models.length);
  return { mostModels, orders: 'cheaper-first', thresholds };
}

/** isOfSingles says whether a method knows no cascades, but only single models. */
export function isOfSingles(method: GearMethod): boolean {
  return method === 'dynba' || method === 'ms+';
}
