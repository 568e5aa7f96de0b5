import { lastOf } from '../collections/index.js';
import { bestGear, holdsCheapest, type RangeGear, type SearchedCascades } from './best-gears.js';
import type { Cascade } from './cascade.js';
import { accuracyOf, type RangeFault } from './loop.js';
import type { ModelPlacement } from './placement.js';
import type { GearProblem } from './problem.js';
import type { RankedPlacement } from './ranked-placement.js';

/** A plan whose accuracy is so near its bound is optimal: the rest comes of adding up. */
export const ACCURACY_ROUNDING = 1e-12;

/** FoundPlan is a search's best plan so far, or why there is none. */
export type FoundPlan =
  | { readonly placement: ModelPlacement; readonly gears: readonly RangeGear[] }
  | { readonly error: RangeFault }
  | typeof UNDECIDED;

/** UNDECIDED is a search that ended before it had a plan, or knew why there is none. */
export const UNDECIDED = { undecided: true } as const;

/** BestFound keeps the most accurate plan of the placements that were tried. */
export class BestFound {
  accuracy = Number.NEGATIVE_INFINITY;
  found: FoundPlan | undefined;
  /** Why the first placement has no plan that has none. */
  error: FoundPlan | undefined;

  constructor(
    private readonly searched: SearchedCascades,
    private readonly how: { readonly all: boolean; readonly interrupted: () => boolean },
  ) {}

  /**
   * tryOn gives each range its most accurate cascade on a placement. It goes on to the next placement as soon as this one
   * cannot be better any more. Where the cheapest cascade serves the highest loads, ranges come from the lowest on, so that
   * cascades which fail in one are tried last in those of higher loads; they would fail there too, but for chance. Else
   * the highest range comes first, in which the placement fails if it does.
   */
  tryOn({ placement, busy, bounds, bound }: RankedPlacement): void {
    const { problem, frontier } = this.searched;
    const { all } = this.how;
    const gears = new Array<RangeGear>(problem.ranges.length);
    const order = [...problem.ranges.keys()];
    const top = lastOf(order);
    const isRising = !all && holdsCheapest(this.searched, { range: top, placement, busy });
    let from = 0;
    let hope = bound;
    for (const range of isRising ? order : order.reverse()) {
      if (this.how.interrupted()) return;
      const found = bestGear(this.searched, { range, placement, busy, all, from });
      if ('error' in found) {
        this.error ??= { error: { ...found.error, range } };
        return;
      }
      const { share } = problem.ranges[range] as GearProblem['ranges'][number];
      const lost = (bounds[range] as number) - (frontier[found.index] as Cascade).accuracy;
      hope -= share * lost;
      if (hope < this.accuracy - ACCURACY_ROUNDING) return;
      if (isRising) from = found.index;
      gears[range] = found;
    }
    const accuracy = accuracyOf(problem, frontier, gears);
    if (accuracy <= this.accuracy) return;
    this.accuracy = accuracy;
    this.found = { placement, gears };
  }
}
