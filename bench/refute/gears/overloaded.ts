import type { GearPlan } from '../../../src/formats/index.js';
import type { Refutation } from '../refuter.js';
import type { RandomModel } from './random-cascade.js';
import { ServedPlan } from './served-shares.js';

/** The loads beyond the promise, and those within it, as multiples of the highest promised rate. */
const BEYOND = [1.5, 3, 10];
const WITHIN = [0.01, 0.1, 0.5, 0.9, 1];
/** So much less of the requests may be in time within the promise than where nothing is dropped. */
const MOST_LOST = 0.002;
const SEEDS = [90_101, 90_102];

/**
 * overloadRefutations finds loads beyond the promise at which a plan has less in time than the highest promised rate, and loads
 * within it at which more than 0.2 points fewer requests are in time than by the same gears with `drop=never`.
 */
export function overloadRefutations(plan: GearPlan, models: readonly RandomModel[]): Refutation[] {
  const latencyMs = plan.promise?.latencyMs ?? plan.sloMs;
  const served = new ServedPlan(plan, models, latencyMs);
  const never = { ...plan, serving: { scheduler: 'gears', policy: { drop: 'never' } } };
  const undropped = new ServedPlan(never, models, latencyMs);
  const meanOf = (one: ServedPlan, factor: number) =>
    SEEDS.reduce((sum, seed) => sum + one.shareInTime(factor * plan.maxRps, seed), 0) / SEEDS.length;
  return [
    ...BEYOND.flatMap((factor) => {
      const kept = factor * meanOf(served, factor);
      const claim = `at ${factor} times the promised rate, that rate is in time`;
      return kept >= 1 ? [] : [{ claim, found: `${kept} of it is` }];
    }),
    ...WITHIN.flatMap((share) => {
      const lost = meanOf(undropped, share) - meanOf(served, share);
      const claim = `at ${share} of the promised rate, at most 0.2 points are lost by dropping`;
      return lost <= MOST_LOST ? [] : [{ claim, found: `${100 * lost} are` }];
    }),
  ];
}
