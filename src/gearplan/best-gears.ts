import type { Cascade } from './cascade.js';
import { Balance, type ModelPlacement, modelLoads } from './placement.js';
import type { GearProblem } from './problem.js';
import type { GearError, GearTrials, TunedGear } from './trials.js';

/** After a cascade fails, those are passed over that save less than this share of its utilization. */
const LEAST_SAVING = 0.03;

/** The bound on accuracy where there is no plan. */
const NO_PLAN = -1;

/** RangeGear is the gear of a range: a cascade of the frontier, and how it is batched. */
export interface RangeGear {
  /** The cascade's place in the frontier, which has the most accurate first. */
  readonly index: number;
  readonly gear: TunedGear;
}

/** SearchedCascades is what the gears of a problem are chosen from. */
export interface SearchedCascades {
  readonly problem: GearProblem;
  readonly frontier: readonly Cascade[];
  readonly trials: GearTrials;
}

/**
 * bestGear finds the most accurate cascade that serves a range on a placement. Cascades are tried from the most accurate
 * on. Where one fails, the next that saves at least 3 % of its time or has a lower floor is tried, and once one holds,
 * those in between are searched by halves. With `all`, every cascade is tried in order.
 * @returns the gear, or why the cheapest cascade fails
 */
export function bestGear(
  { problem, frontier, trials }: SearchedCascades,
  {
    range,
    placement,
    all = false,
  }: { readonly range: number; readonly placement: ModelPlacement; readonly all?: boolean },
): RangeGear | { readonly error: GearError } {
  const { models, ranges, latencyNs } = problem;
  const rps = (ranges[range] as GearProblem['ranges'][number]).toRps;
  const balance = new Balance(placement, models.length);
  const shares = frontier.map((cascade) => balance.utilization(modelLoads(models, cascade, rps)).share);
  const mayServe = (index: number): boolean =>
    (shares[index] as number) <= 1 && (frontier[index] as Cascade).floorNs <= latencyNs;
  const tryAt = (index: number): RangeGear | undefined => {
    const tried = trials.try(range, frontier[index] as Cascade, placement);
    return 'gear' in tried ? { index, gear: tried.gear } : undefined;
  };
  let failed = -1;
  let found: RangeGear | undefined;
  for (let index = 0; index < frontier.length && found === undefined; index++) {
    if (!mayServe(index) || (!all && failed !== -1 && !isEasier(index, failed, { shares, frontier })))
      continue;
    found = tryAt(index);
    if (found === undefined) failed = index;
  }
  if (found === undefined)
    return { error: cheapestError({ problem, frontier, trials }, { range, placement }) };
  for (let low = failed; !all && found.index - low > 1; ) {
    const middle: number = (low + found.index) >>> 1;
    const between: RangeGear | undefined = mayServe(middle) ? tryAt(middle) : undefined;
    if (between === undefined) low = middle;
    else found = between;
  }
  return found;
}

function isEasier(
  index: number,
  than: number,
  { shares, frontier }: { readonly shares: readonly number[]; readonly frontier: readonly Cascade[] },
): boolean {
  return (
    (shares[index] as number) <= (1 - LEAST_SAVING) * (shares[than] as number) ||
    (frontier[index] as Cascade).floorNs < (frontier[than] as Cascade).floorNs
  );
}

/** cheapestError is why the cascade with the least work does not serve a range. */
function cheapestError(
  { frontier, trials }: SearchedCascades,
  { range, placement }: { readonly range: number; readonly placement: ModelPlacement },
): GearError {
  const cheapest = frontier.reduce((least, one) => (one.workNs < least.workNs ? one : least));
  const tried = trials.try(range, cheapest, placement);
  return 'error' in tried ? tried.error : { by: 'latency', model: cheapest.models[0] as number };
}

/**
 * accuracyBound bounds the accuracy of any plan on a placement from above: in each range, that of the most accurate
 * cascade for which devices have the time, and whose floor is low enough. It is below 0 where a range has none.
 */
export function accuracyBound(
  { problem, frontier }: Pick<SearchedCascades, 'problem' | 'frontier'>,
  placement: ModelPlacement,
): number {
  const { models, ranges, latencyNs } = problem;
  const balance = new Balance(placement, models.length);
  let sum = 0;
  for (const { toRps, share } of ranges) {
    const best = frontier.find(
      (cascade) =>
        cascade.floorNs <= latencyNs && balance.utilization(modelLoads(models, cascade, toRps)).share <= 1,
    );
    if (best === undefined) return NO_PLAN;
    sum += share * best.accuracy;
  }
  return atMostAll(sum);
}

/** atMostAll is a mean of shares, which may come out above 1 as it is added up. */
export function atMostAll(share: number): number {
  return Math.min(1, share);
}
