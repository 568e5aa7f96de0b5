import { itemAt } from '../collections/index.js';
import type { GearScope } from '../formats/index.js';
import { ACCURACY_ROUNDING, BestFound, type FoundPlan, UNDECIDED } from './best-found.js';
import {
  type LoadedCascades,
  loadedCascades,
  loadedLimits,
  type RangeGear,
  type SearchedCascades,
} from './best-gears.js';
import type { Cascade } from './cascade.js';
import type { CascadeSpace } from './frontier.js';
import { accuracyOf, planByLoop, type RangeFault } from './loop.js';
import { fullPlacement, type ModelPlacement, pairedPlacements, placementsOf } from './placement.js';
import type { PlacementSolver } from './placement-solver.js';
import type { GearProblem } from './problem.js';
import { provedBound, rankedPlacement, relaxedBound } from './ranked-placement.js';
import type { GearMethod } from './scope.js';
import { spaceOf } from './search-space.js';
import { type ArrivalsOf, GearTrials, type TriedGears } from './trials.js';

/** Random search draws this many plans where nobody says. */
const DEFAULT_DRAWS = 1000;

/** This many cascades the loop chooses from. */
const MOST_LOOPED = 150;
/** This many cascades the MILP of placements has for each range. */
const MOST_STATED = 500;

/** Where nobody limits the work, a search ends after this many arrivals and batches of simulated gears: some ten seconds. */
export const MOST_EVENTS = 40e6;

/** GearChoice is a gear plan that was searched. */
export interface GearChoice {
  readonly placement: ModelPlacement;
  readonly cascades: readonly Cascade[];
  readonly gears: readonly RangeGear[];
  readonly accuracy: number;
  /** No plan with cascades of the scope is more accurate. */
  readonly bound: number;
  readonly scope: GearScope;
  /** No cascade of the scope is more accurate. */
  readonly most: number;
  /** isBest says whether every cascade was tried in every range, wherever that could be better. */
  readonly isBest: boolean;
  /**
   * Present where one cascade serves all ranges: why the next more accurate one does not, as far as that is known.
   */
  readonly unchanging?: { readonly fault?: RangeFault };
}

/**
 * GearOutcome is the answer of a search, with the number of gears that were simulated. It is infeasible where every
 * cascade was tried on every placement, or devices have no time for any; and undecided where the search ended before.
 */
export type GearOutcome =
  | { readonly status: 'optimal' | 'feasible'; readonly choice: GearChoice; readonly trials: number }
  | {
      readonly status: 'infeasible';
      readonly fault: RangeFault;
      readonly trials: number;
      readonly scope: GearScope;
      /** How many cascades were simulated; absent where a bound shows that no plan is there. */
      readonly tried?: number;
    }
  | { readonly status: 'undecided'; readonly trials: number };

/** SearchEnd says when a search ends with what it has. */
export interface SearchEnd {
  /**
   * After this many gears were simulated, no further placement is looked at. By default a search ends after some ten seconds
   * of counted work; exhaustive search has no limit.
   */
  readonly work?: number;
  /**
   * The arrivals and batches of simulated gears after which a search without `work` ends: 40 million by default, and
   * exhaustive search has no limit.
   */
  readonly mostEvents?: number;
  readonly interrupted?: () => boolean;
}

/** SearchTools are what a search is done with. */
export interface SearchTools {
  readonly arrivalsOf: ArrivalsOf;
  /** The results of gears in other searches of the same models, which are not tried again. */
  readonly tried?: TriedGears;
  /** Solves the placement where placements are too many to look at. Without it, the loop's is the first. */
  readonly solvePlacement?: PlacementSolver;
}

/** GearSearchOptions says how a plan is searched. */
export interface GearSearchOptions extends SearchEnd, SearchTools {
  readonly method?: GearMethod;
  /** surpassed says whether single models are tried too that others surpass. */
  readonly surpassed?: boolean;
  /** The cascades to choose from, where they are known, with their limits: those of `cascadeSpace`. */
  readonly space?: CascadeSpace;
  /** For random search: draws an integer below a number, and how many plans are drawn. */
  readonly integer?: (below: number) => number;
  readonly draws?: number;
}

/**
 * mostAccurate searches the placement and the gears of most accuracy under a latency that is promised at every load. It
 * begins with the placement of CascadeServe's loop. Where placements are few, all are looked at, the most promising first,
 * and each range gets its most accurate cascade, until no bound is above what was found. Where they are many and a solver
 * is there, it begins with the placement of the MILP, and has the loop's only where that serves no plan.
 */
export function mostAccurate(problem: GearProblem, options: GearSearchOptions): GearOutcome {
  const { method = 'gears', arrivalsOf, tried } = options;
  const space = options.space ?? spaceOf(problem, options);
  const trials = new GearTrials(problem, arrivalsOf, tried);
  const limits = loadedLimits(problem, space);
  const searched = { ...loadedCascades(problem, space.cascades), trials, limits };
  switch (method) {
    case 'dynba':
    case 'static':
      return unchanging(searched, options);
    case 'loop':
      return answerOf(searched, byLoop(searched), { isWhole: false });
    case 'random':
      return answerOf(searched, drawn(searched, options), { isWhole: false });
    case 'gears':
    case 'ms+':
    case 'exhaustive':
      return overPlacements(searched, options);
  }
}

/** byLoop plans by the loop, which moves down the cascades one by one, and so has some of them where they are many. */
function byLoop({ problem, frontier, trials }: SearchedCascades, interrupted?: () => boolean): FoundPlan {
  const step = Math.ceil(frontier.length / MOST_LOOPED);
  const some = frontier.filter((_, index) => index % step === 0 || index === frontier.length - 1);
  const result = planByLoop({ problem, frontier: some, trials }, interrupted);
  if (result === undefined) return UNDECIDED;
  if (!('plan' in result)) return result;
  const { placement, gears } = result.plan;
  const placeOf = (index: number) => Math.min(index * step, frontier.length - 1);
  return { placement, gears: gears.map(({ index, gear }) => ({ index: placeOf(index), gear })) };
}

/**
 * drawn draws plans: a placement and a cascade for each range, all equally likely. Of those that hold it gives the most
 * accurate. (CascadeServe §6.5 compares its planner with this.)
 */
function drawn(
  searched: SearchedCascades,
  { integer = () => 0, draws = DEFAULT_DRAWS, interrupted = () => false }: GearSearchOptions,
): FoundPlan {
  const { problem, frontier, trials } = searched;
  const placements = placementsOf(problem.models, problem) ?? [byLoopPlacement(searched)];
  let best: FoundPlan = UNDECIDED;
  let accuracy = Number.NEGATIVE_INFINITY;
  for (let draw = 0; draw < draws && !interrupted(); draw++) {
    const placement = placements[integer(placements.length)] as ModelPlacement;
    const gears = problem.ranges.map((_, range) => {
      const index = integer(frontier.length);
      const tried = trials.try(range, itemAt(frontier, index), placement);
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
  return 'placement' in found ? found.placement : fullPlacement(models.length, devices);
}

/**
 * overPlacements looks at the placement of the loop, and then at all placements where they are few. Where they are many,
 * it looks at the solver's first.
 */
function overPlacements(searched: SearchedCascades, options: GearSearchOptions): GearOutcome {
  const { problem, trials } = searched;
  const { method, work, interrupted = () => false } = options;
  const all = method === 'exhaustive';
  const { mostEvents = all ? Number.POSITIVE_INFINITY : MOST_EVENTS } = options;
  const isDone = () => (work === undefined ? trials.events >= mostEvents : trials.count >= work);
  const placements = placementsOf(problem.models, problem);
  const solved =
    placements === undefined
      ? options.solvePlacement?.(someCascades(searched), { kind: 'accuracy' })
      : undefined;
  const best = new BestFound(searched, { all, interrupted });
  if (solved !== undefined && solved !== 'infeasible' && solved.placement !== undefined)
    best.tryOn(rankedPlacement(searched, solved.placement));
  const isLooped = placements?.length !== 1 && best.found === undefined;
  const loop = isLooped ? byLoop(searched, interrupted) : undefined;
  if (loop !== undefined && 'placement' in loop) best.tryOn(rankedPlacement(searched, loop.placement));
  const ranked = (placements ?? pairedPlacements(problem.models, problem))
    .map((placement) => ({ placement, bound: rankedPlacement(searched, placement).bound }))
    .sort((a, b) => b.bound - a.bound);
  let isSearched = true;
  for (const one of ranked) {
    if (one.bound <= best.accuracy) break;
    isSearched = !interrupted() && !isDone();
    if (!isSearched) break;
    best.tryOn(rankedPlacement(searched, one.placement));
  }
  const found = best.found ?? best.error ?? loop ?? UNDECIDED;
  const isWhole = placements !== undefined && isSearched && !interrupted();
  const bound = provedBound(searched.limits, { placements, solvePlacement: options.solvePlacement });
  return answerOf(searched, found, { isWhole, isBest: isWhole && all, bound });
}

/** someCascades is the cascades that a MILP chooses from: some of them where they are many. */
function someCascades({ problem, frontier }: LoadedCascades): LoadedCascades {
  const step = Math.ceil(frontier.length / MOST_STATED);
  return loadedCascades(
    problem,
    frontier.filter((_, index) => index % step === 0 || index === frontier.length - 1),
  );
}

/** unchanging finds the most accurate cascade that serves all ranges, on devices that hold as many of its models as fit. */
function unchanging(
  searched: SearchedCascades,
  // The MILP would take longer than it saves, for one cascade after another.
  { solvePlacement: _, ...listing }: GearSearchOptions,
): GearOutcome {
  const { interrupted = () => false, mostEvents = MOST_EVENTS } = listing;
  /** Why the cheapest cascade so far has no plan, and the one before. */
  let cheapest: { readonly workNs: number; readonly fault: RangeFault } | undefined;
  let before: { readonly fault?: RangeFault } = {};
  let isWhole = true;
  for (const [index, cascade] of searched.frontier.entries()) {
    if (interrupted() || searched.trials.events >= mostEvents)
      return answerOf(searched, UNDECIDED, { isWhole: false });
    const used = cascade.models.reduce((set, model) => set | (1 << model), 0);
    // A device that holds more models than the cascade has serves it no better.
    const models = searched.problem.models.map((model, i) =>
      (used >> i) & 1 ? model : { ...model, memoryBytes: 0 },
    );
    const problem = { ...searched.problem, models };
    const { trials, limits } = searched;
    const { byWork, scope, isWhole: isAll } = limits;
    const alone = {
      ...loadedCascades(problem, [cascade]),
      trials,
      limits: { byWork, scope, isWhole: isAll },
    };
    const outcome = overPlacements(alone, listing);
    if (outcome.status === 'undecided') {
      isWhole = false;
      before = {};
    } else if (outcome.status === 'infeasible') {
      const { workNs } = cascade;
      before = { fault: outcome.fault };
      if (cheapest === undefined || workNs < cheapest.workNs) cheapest = { workNs, fault: outcome.fault };
    } else {
      const { gears, placement } = outcome.choice;
      const found = {
        placement: placement.map((held) => held & used),
        gears: gears.map(({ gear }) => ({ index, gear })),
      };
      // Cascades come from the most accurate on, so that the first that serves all ranges is the best.
      const answer = answerOf(searched, found, { isWhole, isBest: isWhole });
      return 'choice' in answer ? { ...answer, choice: { ...answer.choice, unchanging: before } } : answer;
    }
  }
  return answerOf(searched, cheapest ? { error: cheapest.fault } : UNDECIDED, { isWhole });
}

/**
 * answerOf makes the answer of what was found. Without a plan, it is infeasible where the whole space was searched, or where
 * no cascade is fast enough for a range even if all devices held all models.
 */
function answerOf(
  searched: SearchedCascades,
  found: FoundPlan,
  {
    isWhole,
    isBest = false,
    bound = relaxedBound(searched.limits.byWork),
  }: { readonly isWhole: boolean; readonly isBest?: boolean; readonly bound?: number | undefined },
): GearOutcome {
  const { problem, frontier, trials, limits } = searched;
  const { count } = trials;
  const { scope } = limits;
  const most = limits.byWork.frontier[0]?.accuracy ?? 0;
  if ('placement' in found) {
    const accuracy = accuracyOf(problem, frontier, found.gears);
    const best = Math.max(bound, accuracy);
    const status = best - accuracy <= ACCURACY_ROUNDING && limits.isWhole ? 'optimal' : 'feasible';
    const choice = { ...found, cascades: frontier, accuracy, bound: best, scope, most, isBest };
    return { status, choice, trials: count };
  }
  return 'error' in found && (isWhole || bound < 0)
    ? {
        status: 'infeasible',
        fault: found.error,
        scope,
        trials: count,
        ...(bound < 0 ? {} : { tried: frontier.length }),
      }
    : { status: 'undecided', trials: count };
}
