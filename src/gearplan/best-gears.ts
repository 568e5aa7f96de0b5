import { itemAt } from '../collections/index.js';
import type { GearScope } from '../formats/index.js';
import type { Cascade } from './cascade.js';
import type { CascadeSpace } from './frontier.js';
import { Balance, type Demands, type ModelPlacement, modelLoads, setDemands } from './placement.js';
import type { GearProblem } from './problem.js';
import type { GearError, GearTrials, TunedGear } from './trials.js';

/** After a cascade fails, those are passed over that save less than this share of its utilization. */
const LEAST_SAVING = 0.03;

/** The bound on accuracy where there is no plan. */
export const NO_PLAN = -1;

/** RangeGear is the gear of a range: a cascade of the frontier, and how it is batched. */
export interface RangeGear {
  /** The cascade's place in the frontier, which has the most accurate first. */
  readonly index: number;
  readonly gear: TunedGear;
}

/** SearchedCascades is what the gears of a problem are chosen from. */
export interface SearchedCascades extends LoadedCascades {
  readonly trials: GearTrials;
  /** The limits that no cascade surpasses. */
  readonly limits: LoadedLimits;
}

/** LoadedLimits holds the limits of a space of cascades with their loads. */
export interface LoadedLimits {
  readonly byWork: LoadedCascades;
  /** Present where devices do not hold all models. */
  readonly byModel?: LoadedCascades;
  readonly scope: GearScope;
  /**
   * isWhole says whether the scope is all that is ever counted, so that a plan which reaches the bound is
   * called optimal.
   */
  readonly isWhole: boolean;
}

/** LoadedCascades holds the cascades of a frontier with the load of each. */
export interface LoadedCascades {
  readonly problem: GearProblem;
  readonly frontier: readonly Cascade[];
  /** The time that each model needs for one request per second, in devices, by cascade. */
  readonly loads: readonly Float64Array[];
  readonly demands: Demands;
}

/** loadedCascades gives the loads of a frontier, which every placement is judged by. */
export function loadedCascades(problem: GearProblem, frontier: readonly Cascade[]): LoadedCascades {
  const loads = frontier.map((cascade) => modelLoads(problem.models, cascade, 1));
  return { problem, frontier, loads, demands: setDemands(loads) };
}

/** loadedLimits gives the limits of a space of cascades their loads. */
export function loadedLimits(problem: GearProblem, space: CascadeSpace): LoadedLimits {
  const { limits, limitsByModel, scope, isWhole } = space;
  return {
    byWork: loadedCascades(problem, limits),
    ...(limitsByModel === undefined ? {} : { byModel: loadedCascades(problem, limitsByModel) }),
    scope,
    isWhole,
  };
}

/** RangeQuestion asks for the gear of a range on a placement. */
export interface RangeQuestion {
  readonly range: number;
  readonly placement: ModelPlacement;
  /** How busy each cascade of the frontier makes the busiest device with one request per second. */
  readonly busy: Float64Array;
  /** all says whether every cascade is tried in order. */
  readonly all?: boolean;
  /** The place in the frontier that is tried first, 0 where it is absent; those before are tried last. */
  readonly from?: number;
}

/**
 * busyByCascade is how busy each cascade makes the busiest device of a placement with one request per second. Other rates
 * make it busier in proportion.
 */
export function busyByCascade(
  { problem: { models }, demands }: Pick<LoadedCascades, 'problem' | 'demands'>,
  placement: ModelPlacement,
): Float64Array {
  return new Balance(placement, models.length).shares(demands);
}

/**
 * bestGear finds the most accurate cascade that serves a range on a placement. Cascades are tried from the most accurate
 * on. Where one fails, the next that saves at least 3 % of its time or has a lower floor is tried, and once one holds,
 * those in between are searched by halves. Where none of these holds, the others are tried too, and those before `from`.
 * @returns the gear, or why the cheapest cascade fails after every one was tried
 */
export function bestGear(
  searched: SearchedCascades,
  question: RangeQuestion,
): RangeGear | { readonly error: GearError } {
  const { problem, frontier, trials } = searched;
  const { range, placement, busy, all = false, from = 0 } = question;
  const rps = itemAt(problem.ranges, range).toRps;
  const tryAt = (index: number): RangeGear | undefined => {
    const cascade = itemAt(frontier, index);
    if (rps * (busy[index] as number) > 1 || cascade.floorNs > problem.latencyNs) return undefined;
    const tried = trials.try(range, cascade, placement);
    return 'gear' in tried ? { index, gear: tried.gear } : undefined;
  };
  const passedOver = Array.from({ length: from }, (_, index) => index);
  let failed = from - 1;
  let found: RangeGear | undefined;
  for (let index = from; index < frontier.length && found === undefined; index++) {
    if (!all && failed >= from && !isEasier(index, failed, { busy, frontier })) {
      passedOver.push(index);
      continue;
    }
    found = tryAt(index);
    if (found === undefined) failed = index;
  }
  if (found === undefined) {
    for (const index of passedOver) {
      const other = tryAt(index);
      if (other !== undefined) return other;
    }
    return { error: cheapestError(searched, question) };
  }
  for (let low = failed; !all && found.index - low > 1; ) {
    const middle: number = (low + found.index) >>> 1;
    const between: RangeGear | undefined = tryAt(middle);
    if (between === undefined) low = middle;
    else found = between;
  }
  return found;
}

function isEasier(
  index: number,
  than: number,
  { busy, frontier }: { readonly busy: Float64Array; readonly frontier: readonly Cascade[] },
): boolean {
  return (
    (busy[index] as number) <= (1 - LEAST_SAVING) * (busy[than] as number) ||
    itemAt(frontier, index).floorNs < itemAt(frontier, than).floorNs
  );
}

/** holdsCheapest returns whether the cascade with the least work serves a range. */
export function holdsCheapest(searched: SearchedCascades, question: RangeQuestion): boolean {
  return 'gear' in triedCheapest(searched, question).tried;
}

function triedCheapest({ frontier, trials }: SearchedCascades, { range, placement }: RangeQuestion) {
  const cheapest = frontier.reduce((least, one) => (one.workNs < least.workNs ? one : least));
  return { cheapest, tried: trials.try(range, cheapest, placement) };
}

/** cheapestError is why the cascade with the least work does not serve a range. */
function cheapestError(searched: SearchedCascades, question: RangeQuestion): GearError {
  const { cheapest, tried } = triedCheapest(searched, question);
  return 'error' in tried ? tried.error : { by: 'latency', model: cheapest.models[0] as number };
}

/**
 * rangeBounds bounds the accuracy of each range from above, on a placement: that of the most accurate cascade for which
 * devices have the time, and whose floor is low enough; −1 where there is none.
 */
export function rangeBounds(
  { problem: { ranges, latencyNs }, frontier }: LoadedCascades,
  busy: Float64Array,
): Float64Array {
  return Float64Array.from(ranges, ({ toRps }) => {
    const best = frontier.find(
      ({ floorNs }, index) => floorNs <= latencyNs && toRps * (busy[index] as number) <= 1,
    );
    return best?.accuracy ?? NO_PLAN;
  });
}

/** boundOf is the bound on a plan's accuracy from those of its ranges, below 0 where a range has no cascade. */
export function boundOf({ ranges }: Pick<GearProblem, 'ranges'>, bounds: Float64Array): number {
  if (bounds.includes(NO_PLAN)) return NO_PLAN;
  return atMostAll(ranges.reduce((sum, { share }, range) => sum + share * (bounds[range] as number), 0));
}

/** atMostAll is a mean of shares, which may come out above 1 as it is added up. */
export function atMostAll(share: number): number {
  return Math.min(1, share);
}
