import type { CascadeMethod } from '../artifacts/index.js';
import { accuracyBound, bestGear, type RangeGear, type SearchedCascades } from './best-gears.js';
import type { Cascade } from './cascade.js';
import { cascadeFrontier } from './frontier.js';
import { accuracyOf, planByLoop, type RangeFault } from './loop.js';
import { fullPlacement, type ModelPlacement, maximalSets, placementsOf } from './placement.js';
import type { GearProblem } from './problem.js';
import { type ArrivalsOf, GearTrials } from './trials.js';

/** A plan whose accuracy is so near its bound is optimal: the rest comes of adding up. */
const ROUNDING = 1e-12;

/** Random search draws so many plans where nobody says. */
const DEFAULT_DRAWS = 1000;

/** GearMethod is a way to search the gears of most accuracy. */
export type GearMethod = CascadeMethod | 'loop';

/** GearChoice is a gear plan that was searched. */
export interface GearChoice {
  readonly placement: ModelPlacement;
  readonly cascades: readonly Cascade[];
  readonly gears: readonly RangeGear[];
  readonly accuracy: number;
  /** No plan with cascades of the grid is more accurate. */
  readonly bound: number;
}

/** GearOutcome is the answer of a search, with the number of gears that were simulated. */
export type GearOutcome =
  | { readonly status: 'optimal' | 'feasible'; readonly choice: GearChoice; readonly trials: number }
  | { readonly status: 'infeasible'; readonly fault: RangeFault; readonly trials: number };

/** GearSearchOptions says how a plan is searched. */
export interface GearSearchOptions {
  readonly method?: GearMethod;
  readonly arrivalsOf: ArrivalsOf;
  /** The cascades to choose from, where they are known: those of `cascadeFrontier`. */
  readonly frontier?: readonly Cascade[];
  /** For random search: draws an integer below a number, and how many plans are drawn. */
  readonly integer?: (below: number) => number;
  readonly draws?: number;
}

/**
 * mostAccurate searches the placement and the gears of most accuracy under a latency that is promised at every load. It
 * begins with CascadeServe's loop. Where placements are few, all are looked at, the most promising first, and each range
 * gets its most accurate cascade, until no bound is above what was found; else the loop's placement stays.
 */
export function mostAccurate(problem: GearProblem, options: GearSearchOptions): GearOutcome {
  const { method = 'gears', arrivalsOf } = options;
  const whole = options.frontier ?? cascadeFrontier(problem);
  const trials = new GearTrials(problem, arrivalsOf);
  const frontier = allowed(problem, whole, method);
  const searched = { problem, frontier, trials };
  switch (method) {
    case 'dynba':
    case 'static':
      return unchanging(searched);
    case 'loop':
      return answerOf(searched, byLoop(searched));
    case 'random':
      return answerOf(searched, drawn(searched, options));
    case 'gears':
    case 'ms+':
    case 'exhaustive':
      return overPlacements(searched, method === 'exhaustive');
  }
}

/** allowed gives the cascades of a method: those of one model for baselines that have no cascades. */
function allowed(problem: GearProblem, frontier: readonly Cascade[], method: GearMethod): readonly Cascade[] {
  if (method !== 'dynba' && method !== 'ms+') return frontier;
  return cascadeFrontier({ ...problem, thresholds: 0 });
}

/** Found is a search's best plan so far, or why there is none. */
type Found =
  | { readonly placement: ModelPlacement; readonly gears: readonly RangeGear[] }
  | { readonly error: RangeFault };

function byLoop(searched: SearchedCascades): Found {
  const result = planByLoop(searched);
  return 'plan' in result ? result.plan : result;
}

/**
 * drawn draws plans: a placement and a cascade for each range, all equally likely. Of those that hold it gives the most
 * accurate. (CascadeServe §6.5 compares its planner with this.)
 */
function drawn(
  searched: SearchedCascades,
  { integer = () => 0, draws = DEFAULT_DRAWS }: GearSearchOptions,
): Found {
  const { problem, frontier, trials } = searched;
  const placements = placementsOf(problem.models, problem) ?? [byLoopPlacement(searched)];
  let best: Found = { error: { by: 'latency', model: 0, range: problem.ranges.length - 1 } };
  let accuracy = Number.NEGATIVE_INFINITY;
  for (let draw = 0; draw < draws; draw++) {
    const placement = placements[integer(placements.length)] as ModelPlacement;
    const gears = problem.ranges.map((_, range) => {
      const index = integer(frontier.length);
      const tried = trials.try(range, frontier[index] as Cascade, placement);
      return 'gear' in tried ? { index, gear: tried.gear } : undefined;
    });
    const held = gears.filter((gear) => gear !== undefined);
    if (held.length < gears.length || accuracyOf(problem, frontier, held) <= accuracy) continue;
    accuracy = accuracyOf(problem, frontier, held);
    best = { placement, gears: held };
  }
  return best;
}

function byLoopPlacement(searched: SearchedCascades): ModelPlacement {
  const { models, devices } = searched.problem;
  const found = byLoop(searched);
  return 'error' in found ? fullPlacement(models.length, devices) : found.placement;
}

/** overPlacements looks at all placements where they are few, and else at that of the loop. */
function overPlacements(searched: SearchedCascades, all: boolean): GearOutcome {
  const { problem, frontier } = searched;
  const placements = placementsOf(problem.models, problem);
  if (placements === undefined) {
    const found = byLoop(searched);
    return answerOf(searched, 'error' in found ? found : improved(searched, found.placement, all));
  }
  const ranked = placements
    .map((placement) => ({ placement, bound: accuracyBound(searched, placement) }))
    .sort((a, b) => b.bound - a.bound);
  let best: Found | undefined;
  let accuracy = Number.NEGATIVE_INFINITY;
  for (const { placement, bound } of ranked) {
    if (bound <= accuracy) break;
    const found = improved(searched, placement, all);
    if ('error' in found) {
      best ??= found;
      continue;
    }
    const reached = accuracyOf(problem, frontier, found.gears);
    if (reached <= accuracy) continue;
    accuracy = reached;
    best = found;
  }
  return answerOf(searched, best ?? byLoop(searched), ranked[0]?.bound);
}

/** improved gives each range its most accurate cascade on a placement. */
function improved(searched: SearchedCascades, placement: ModelPlacement, all: boolean): Found {
  const gears: RangeGear[] = [];
  for (let range = searched.problem.ranges.length - 1; range >= 0; range--) {
    const found = bestGear(searched, { range, placement, all });
    if ('error' in found) return { error: { ...found.error, range } };
    gears.unshift(found);
  }
  return { placement, gears };
}

/** unchanging finds the most accurate cascade that serves all ranges, on devices that hold as many of its models as fit. */
function unchanging(searched: SearchedCascades): GearOutcome {
  const { problem, frontier, trials } = searched;
  const top = problem.ranges.length - 1;
  let error: RangeFault | undefined;
  for (const [index, cascade] of frontier.entries()) {
    const alone = { ...searched, frontier: [cascade] };
    const result = overPlacementsOf(alone, cascade);
    if ('error' in result) {
      error = result.error;
      continue;
    }
    const gears = problem.ranges.map((_, range) => {
      const tried = trials.try(range, cascade, result.placement);
      return 'gear' in tried ? { index, gear: tried.gear } : undefined;
    });
    if (gears.every((gear) => gear !== undefined))
      return answerOf(searched, { placement: result.placement, gears });
    error = { by: 'latency', model: cascade.models[0] as number, range: gears.indexOf(undefined) };
  }
  return answerOf(searched, { error: error ?? { by: 'latency', model: 0, range: top } });
}

/** overPlacementsOf finds a placement on which one cascade serves all ranges. */
function overPlacementsOf(searched: SearchedCascades, cascade: Cascade): Found {
  const { problem } = searched;
  const used = cascade.models.reduce((set, model) => set | (1 << model), 0);
  // A device that holds more models than the cascade has serves it no better.
  const placements = placementsOf(
    problem.models.map((model, i) => ((used >> i) & 1 ? model : { ...model, memoryBytes: 0 })),
    problem,
  );
  let error: Found | undefined;
  for (const placement of placements ?? []) {
    const found = improved(searched, placement, false);
    if (!('error' in found)) return { ...found, placement: placement.map((held) => held & used) };
    error ??= found;
  }
  return error ?? byLoop(searched);
}

function answerOf(searched: SearchedCascades, found: Found, bound?: number): GearOutcome {
  const { problem, frontier, trials } = searched;
  if ('error' in found) return { status: 'infeasible', fault: found.error, trials: trials.count };
  const accuracy = accuracyOf(problem, frontier, found.gears);
  const best = Math.max(bound ?? relaxedBound(searched), accuracy);
  return {
    status: best - accuracy <= ROUNDING ? 'optimal' : 'feasible',
    choice: { ...found, cascades: frontier, accuracy, bound: best },
    trials: trials.count,
  };
}

/** relaxedBound bounds the accuracy of any plan, as if every device held every model. */
export function relaxedBound(searched: Pick<SearchedCascades, 'problem' | 'frontier'>): number {
  const { models, devices } = searched.problem;
  return accuracyBound(searched, fullPlacement(models.length, devices));
}

/** tooLarge names the models that do not fit on a device by themselves. */
export function tooLarge({ models, memoryBytes }: Pick<GearProblem, 'models' | 'memoryBytes'>): string[] {
  const sets = maximalSets(models, memoryBytes);
  return models.flatMap(({ name }, model) => (sets.some((held) => (held >> model) & 1) ? [] : [name]));
}
