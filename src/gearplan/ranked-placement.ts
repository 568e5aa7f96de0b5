import {
  boundOf,
  busyByCascade,
  type LoadedCascades,
  type LoadedLimits,
  NO_PLAN,
  rangeBounds,
} from './best-gears.js';
import { fullPlacement, type ModelPlacement } from './placement.js';
import type { PlacementSolver } from './placement-solver.js';

/** RankedPlacement is a placement with bounds on the accuracy of its ranges, and of all of them. */
export interface RankedPlacement {
  readonly placement: ModelPlacement;
  readonly busy: Float64Array;
  readonly bounds: Float64Array;
  readonly bound: number;
}

/** rankedPlacement bounds what a placement serves. */
export function rankedPlacement(searched: LoadedCascades, placement: ModelPlacement): RankedPlacement {
  const busy = busyByCascade(searched, placement);
  const bounds = rangeBounds(searched, busy);
  return { placement, busy, bounds, bound: boundOf(searched.problem, bounds) };
}

/** relaxedBound bounds the accuracy of any plan, as if every device held every model. It is below 0 where there is none. */
export function relaxedBound(searched: LoadedCascades): number {
  return relaxedPlacement(searched).bound;
}

/** relaxedPlacement is the placement of every model on every device, as if they had the memory, with its bounds. */
export function relaxedPlacement(searched: LoadedCascades): RankedPlacement {
  const { models, devices } = searched.problem;
  return rankedPlacement(searched, fullPlacement(models.length, devices));
}

/**
 * provedBound bounds the accuracy of any plan: as if every device held every model and, where that is not so, by the best of
 * the placements that are listed, or by what a solver proves of all. It is below 0 where no placement has the time for a plan.
 */
export function provedBound(
  { byWork, byModel }: LoadedLimits,
  {
    placements,
    solvePlacement,
  }: {
    readonly placements: readonly ModelPlacement[] | undefined;
    readonly solvePlacement: PlacementSolver | undefined;
  },
): number {
  const bound = relaxedBound(byWork);
  if (byModel === undefined || bound < 0) return bound;
  if (placements !== undefined)
    return placements.reduce(
      (most, placement) => Math.max(most, rankedPlacement(byModel, placement).bound),
      NO_PLAN,
    );
  const solved = solvePlacement?.(byModel, { kind: 'accuracy' });
  return solved === 'infeasible' ? NO_PLAN : Math.min(bound, solved?.bound ?? 1);
}
