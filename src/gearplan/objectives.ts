import { largestOf } from '../collections/index.js';
import type { CascadeObjective, GearScope } from '../formats/index.js';
import { NS_PER_MS } from '../formats/index.js';
import { loadedCascades } from './best-gears.js';
import type { Cascade } from './cascade.js';
import type { CascadeSpace } from './frontier.js';
import type { RangeFault } from './loop.js';
import type { ModelPlacement } from './placement.js';
import { type GearChoice, MOST_EVENTS, mostAccurate, type SearchEnd, type SearchTools } from './planner.js';
import type { GearProblem } from './problem.js';
import type { HeldPlan, NotHeldRate } from './promise.js';
import { relaxedBound, relaxedPlacement } from './ranked-placement.js';
import type { GearMethod } from './scope.js';
import { spaceOf, surpassedModels } from './search-space.js';
import { GearTrials } from './trials.js';

/** Accuracies that differ by less come of adding up shares. */
const ROUNDING = 1e-12;
/** The least latency is searched to within this share. */
const LATENCY_STEP = 0.01;
/** A latency is given up as out of reach that is this many times as long as the least that is possible. */
const MOST_LATENCIES = 4096;
/** Each of the searches for a least latency or number of devices may do so much of the work of one. */
const EVENTS_OF_TRY = MOST_EVENTS / 10;

/** GearQuestion is a problem with what is made best, and what must be reached. */
export interface GearQuestion extends SearchEnd, SearchTools {
  readonly problem: GearProblem;
  readonly objective: CascadeObjective;
  /** The least accuracy over the distribution of loads; 0 where none is promised. */
  readonly accuracy: number;
  readonly method?: GearMethod;
  /** surpassed says whether single models are tried too that others surpass. */
  readonly surpassed?: boolean;
  /** For random search. */
  readonly integer?: (below: number) => number;
  /** The price of a device, for the objective cost. */
  readonly unitCost?: number;
}

/** GearSolution is a plan that is best by an objective, with the bound on any plan's value. */
export interface GearSolution {
  readonly problem: GearProblem;
  readonly choice: GearChoice;
  readonly value: number;
  readonly bound: number;
  /** The cascades that the bound is about. */
  readonly scope: GearScope;
  readonly trials: number;
}

/**
 * NoGears says why there is no plan: a range is not served, or no plan is more accurate than `most`. Where the best
 * cascade has `best`, most of that is lost in a range, by a fault. Where that rests on simulations, and not on a bound,
 * `tried` is how many cascades were simulated.
 */
export type NoGears =
  | {
      readonly code: 'range';
      readonly fault: RangeFault;
      readonly scope: GearScope;
      readonly tried?: number | undefined;
    }
  | {
      readonly code: 'accuracy';
      readonly scope: GearScope;
      readonly tried?: number | undefined;
      readonly most: number;
      readonly best: number;
      readonly fault?: RangeFault | undefined;
    };

/** GearAnswer is the answer to a question; undecided where the search ended before it found a plan. */
export type GearAnswer = SolvedGears | UnsolvedGears;

interface SolvedGears {
  readonly status: 'optimal' | 'feasible';
  readonly solution: GearSolution;
  /**
   * The simulations that confirm the promised latency; absent where none is promised, or nobody simulated the
   * plan.
   */
  readonly held?: HeldPlan;
}

type UnsolvedGears =
  | { readonly status: 'infeasible'; readonly reason: NoGears; readonly trials: number }
  | { readonly status: 'undecided'; readonly trials: number; readonly notHeld?: NotHeldRate };

/** trialsOf is the number of gears that were simulated for an answer. */
export function trialsOf(answer: GearAnswer): number {
  return 'solution' in answer ? answer.solution.trials : answer.trials;
}

/**
 * solveGears answers a question by searching for the most accurate plan: once for the objective accuracy; for the least
 * latency by halving the latency that is promised; for the fewest devices by their number. All is counted work, so that
 * the same question has the same answer.
 */
export function solveGears(asked: GearQuestion): GearAnswer {
  const question = { ...asked, accuracy: allButRounding(asked.accuracy) };
  const space = spaceOf(question.problem, question);
  const answer = answerWith(question, space);
  if (answer.status !== 'infeasible' || answer.reason.code !== 'accuracy' || !space.isCut) return answer;
  // A cascade that was not counted may be right more often.
  return { status: 'undecided', trials: answer.trials };
}

/**
 * allButRounding is the accuracy that plans must come to: theirs is a sum over ranges, which may come out a little below what
 * its cascades have.
 */
export function allButRounding(accuracy: number): number {
  return accuracy - ROUNDING;
}

function answerWith(question: GearQuestion, space: CascadeSpace): GearAnswer {
  const { problem, accuracy } = question;
  const most = relaxedBound(loadedCascades(problem, space.limits));
  if (most >= 0 && most < accuracy) {
    const { cascades, scope } = space;
    const { bounds, placement } = relaxedPlacement(loadedCascades(problem, cascades));
    const indices = Array.from(bounds, (bound) => cascades.findIndex((one) => one.accuracy === bound));
    const best = space.limits[0]?.accuracy ?? 0;
    const reason = tooInaccurate(question, { most, best, scope, cascades, indices, placement });
    return { status: 'infeasible', reason, trials: 0 };
  }
  switch (question.objective) {
    case 'accuracy':
      return at(question, space, {});
    case 'latency':
      return leastLatency(question, space);
    case 'devices':
    case 'cost':
      return fewestDevices(question, space);
  }
}

/**
 * searchedThrough answers a question that a search left open by trying every cascade, within the work that is left, or else
 * as much again.
 */
export function searchedThrough(
  question: GearQuestion,
  open: Extract<GearAnswer, { readonly status: 'undecided' }>,
  solve: (question: GearQuestion) => GearAnswer = solveGears,
): GearAnswer {
  const { method = 'gears', work, interrupted } = question;
  if (method !== 'gears' || interrupted?.() === true) return open;
  const mostEvents = question.objective === 'accuracy' ? MOST_EVENTS : EVENTS_OF_TRY;
  const left = work === undefined ? { mostEvents } : { work: work - open.trials };
  if (left.work !== undefined && left.work <= 0) return open;
  const answer = solve({ ...question, ...left, method: 'exhaustive' });
  const trials = open.trials + trialsOf(answer);
  return 'solution' in answer
    ? { ...answer, solution: { ...answer.solution, trials } }
    : { ...answer, trials };
}

/**
 * relaxedValue is a bound on the value of any plan, which no search is needed for: from above for accuracy, from below
 * else. It is undefined where there is no plan.
 */
export function relaxedValue(question: GearQuestion): number | undefined {
  const { problem, objective, unitCost = 1 } = question;
  const accuracy = allButRounding(question.accuracy);
  const space = spaceOf(problem, question);
  const most = relaxedBound(loadedCascades(problem, space.limits));
  if (most < Math.max(0, accuracy)) return undefined;
  switch (objective) {
    case 'accuracy':
      return most;
    case 'latency':
      return (leastNs({ ...question, accuracy }, space) ?? 0) / NS_PER_MS;
    case 'devices':
    case 'cost':
      return leastDevices({ ...question, accuracy }, space) * unitCost;
  }
}

/**
 * withSurpassed answers a question again that has no plan and no proof, with single models that others surpass; it keeps the
 * answer where no model is surpassed, or none of them serves.
 */
export function withSurpassed(
  question: GearQuestion,
  answer: UnsolvedGears,
  solve: (question: GearQuestion) => GearAnswer,
): GearAnswer {
  const { problem, work, interrupted } = question;
  const isProved = answer.status === 'infeasible' && answer.reason.tried === undefined;
  if (isProved || interrupted?.() === true || (work !== undefined && work <= answer.trials)) return answer;
  if (surpassedModels(problem, spaceOf(problem, question)).length === 0) return answer;
  const left = work === undefined ? {} : { work: work - answer.trials };
  const other = solve({ ...question, ...left, surpassed: true });
  const trials = answer.trials + trialsOf(other);
  return 'solution' in other ? { ...other, solution: { ...other.solution, trials } } : { ...answer, trials };
}

type Change = Partial<Pick<GearProblem, 'latencyNs' | 'devices'>>;

/** at finds the most accurate plan of a problem with a change, and refuses one of too little accuracy. */
function at(question: GearQuestion, space: CascadeSpace, change: Change): GearAnswer {
  const { problem: asked, objective: _, accuracy, unitCost: __, ...search } = question;
  const problem = { ...asked, ...change };
  const outcome = mostAccurate(problem, { ...search, space });
  const { trials } = outcome;
  if (outcome.status === 'undecided') return { status: 'undecided', trials };
  if (outcome.status === 'infeasible') {
    const { fault, scope, tried } = outcome;
    return { status: 'infeasible', reason: { code: 'range', fault, scope, tried }, trials };
  }
  const { choice, status } = outcome;
  if (choice.accuracy >= accuracy) {
    const { accuracy: value, bound, scope } = choice;
    return { status, solution: { problem, choice, value, bound, scope, trials } };
  }
  // A better plan may be there that the search has not found.
  if (choice.bound >= accuracy && !choice.isBest) return { status: 'undecided', trials };
  const most = choice.isBest ? choice.accuracy : choice.bound;
  const { cascades, gears, placement, scope, most: best } = choice;
  const indices = gears.map(({ index }) => index);
  const reason = tooInaccurate({ ...question, problem }, { most, best, scope, cascades, indices, placement });
  const tried = choice.bound < accuracy ? {} : { tried: cascades.length };
  return { status: 'infeasible', reason: { ...reason, ...tried }, trials };
}

/** LessAccurate is the cascade of each range in plans that are less accurate than is promised. */
interface LessAccurate {
  readonly most: number;
  readonly best: number;
  readonly scope: GearScope;
  readonly cascades: readonly Cascade[];
  readonly indices: readonly number[];
  readonly placement: ModelPlacement;
}

/** tooInaccurate says in which range most accuracy is lost beside the best cascade, and why the next does not serve it. */
function tooInaccurate(
  { problem, arrivalsOf }: Pick<GearQuestion, 'problem' | 'arrivalsOf'>,
  { most, best, scope, cascades, indices, placement }: LessAccurate,
): NoGears {
  const accuracyAt = (index: number) => cascades[index]?.accuracy ?? 0;
  const lost = problem.ranges.map(
    ({ share }, range) => share * (accuracyAt(0) - accuracyAt(indices[range] as number)),
  );
  const range = lost.indexOf(largestOf(lost));
  const next = cascades[(indices[range] as number) - 1];
  if (next === undefined) return { code: 'accuracy', most, best, scope };
  const tried = new GearTrials(problem, arrivalsOf).try(range, next, placement);
  return {
    code: 'accuracy',
    most,
    best,
    scope,
    fault: 'error' in tried ? { ...tried.error, range } : undefined,
  };
}

/** Tries counts the work of several searches, and keeps why the last one found no plan. */
class Tries {
  private trials = 0;

  constructor(
    private readonly question: GearQuestion,
    private readonly space: CascadeSpace,
  ) {}

  try(change: Change): GearAnswer {
    const { work, method } = this.question;
    const { mostEvents = method === 'exhaustive' ? Number.POSITIVE_INFINITY : EVENTS_OF_TRY } = this.question;
    const left = work === undefined ? { mostEvents } : { work: Math.max(0, work - this.trials) };
    const answer = at({ ...this.question, ...left }, this.space, change);
    this.trials += trialsOf(answer);
    return answer;
  }

  get isEnded(): boolean {
    const { work = Number.POSITIVE_INFINITY, interrupted } = this.question;
    return this.trials >= work || interrupted?.() === true;
  }

  /** unsolved says why there is no plan, which only a search of the whole space knows. */
  unsolved(answer: UnsolvedGears, isWhole: boolean): GearAnswer {
    return isWhole ? { ...answer, trials: this.trials } : { status: 'undecided', trials: this.trials };
  }

  /** solved gives a plan the figures of an objective that is better the smaller it is. */
  solved({ solution }: SolvedGears, { value, bound }: Pick<GearSolution, 'value' | 'bound'>): GearAnswer {
    const isProved = value <= bound && this.space.isWhole;
    return {
      status: isProved ? 'optimal' : 'feasible',
      solution: { ...solution, value, bound, trials: this.trials },
    };
  }
}

/**
 * leastLatency halves the promised latency between the least floor at which the bound allows the accuracy, and the
 * latency of a plan.
 */
function leastLatency(question: GearQuestion, space: CascadeSpace): GearAnswer {
  const { problem } = question;
  const bound = leastNs(question, space);
  if (bound === undefined || bound > problem.latencyNs) return at(question, space, {});
  const tries = new Tries(question, space);
  const most = Math.min(problem.latencyNs, MOST_LATENCIES * bound);
  let low = bound;
  let latencyNs = Math.min(2 * bound, most);
  let best = tries.try({ latencyNs });
  while (!('solution' in best)) {
    if (latencyNs >= most || tries.isEnded) return tries.unsolved(best, latencyNs >= most);
    low = latencyNs;
    latencyNs = Math.min(2 * latencyNs, most);
    best = tries.try({ latencyNs });
  }
  for (let high = slowestNs(best.solution.choice); high > (1 + LATENCY_STEP) * low && !tries.isEnded; ) {
    const middle = Math.sqrt(low * high);
    const answer = tries.try({ latencyNs: middle });
    if (!('solution' in answer)) low = middle;
    else {
      best = answer;
      high = slowestNs(answer.solution.choice);
    }
  }
  const value = slowestNs(best.solution.choice);
  return tries.solved(best, { value: value / NS_PER_MS, bound: bound / NS_PER_MS });
}

/** leastNs is the least latency at which the bound allows the accuracy. */
function leastNs(question: GearQuestion, space: CascadeSpace): number | undefined {
  const floors = [...new Set(space.limits.map(({ floorNs }) => floorNs))].sort((a, b) => a - b);
  return floors.find((latencyNs) => mayReach(question, space, { latencyNs }));
}

/** slowestNs is the largest latency of the gears of a choice. */
export function slowestNs({ gears }: GearChoice): number {
  return largestOf(gears.map(({ gear }) => gear.latencyNs));
}

/** fewestDevices searches the number of devices, from the least that the bound allows to those that there are. */
function fewestDevices(question: GearQuestion, space: CascadeSpace): GearAnswer {
  const { problem, unitCost = 1 } = question;
  const bound = leastDevices(question, space);
  const tries = new Tries(question, space);
  let low = bound - 1;
  let high = bound;
  let best = tries.try({ devices: high });
  while (!('solution' in best)) {
    if (high >= problem.devices || tries.isEnded) return tries.unsolved(best, high >= problem.devices);
    low = high;
    high = Math.min(2 * high, problem.devices);
    best = tries.try({ devices: high });
  }
  while (high - low > 1 && !tries.isEnded) {
    const middle = (low + high) >>> 1;
    const answer = tries.try({ devices: middle });
    if (!('solution' in answer)) low = middle;
    else {
      best = answer;
      high = middle;
    }
  }
  return tries.solved(best, { value: high * unitCost, bound: bound * unitCost });
}

/**
 * leastDevices is the least number of devices with which the bound allows a plan; all where it allows none. The bound is
 * that of the MILP where models do not all fit a device and a solver is there.
 */
function leastDevices(question: GearQuestion, space: CascadeSpace): number {
  const { problem, accuracy, solvePlacement } = question;
  const alike = leastAlike(question, space);
  if (solvePlacement === undefined || space.limitsByModel === undefined) return alike;
  const solved = solvePlacement(loadedCascades(problem, space.limitsByModel), { kind: 'devices', accuracy });
  if (solved === undefined) return alike;
  return solved === 'infeasible' ? problem.devices : Math.max(alike, solved.bound);
}

/** leastAlike is the least number of devices that would do if each held all models. */
function leastAlike(question: GearQuestion, space: CascadeSpace): number {
  // The bound never falls as devices are added.
  const isEnough = (devices: number): boolean => mayReach(question, space, { devices });
  let [low, high] = [0, 1];
  while (high < question.problem.devices && !isEnough(high))
    [low, high] = [high, Math.min(2 * high, question.problem.devices)];
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (isEnough(middle)) high = middle;
    else low = middle;
  }
  return high;
}

/** mayReach says whether the bound on accuracy allows a plan. */
function mayReach(question: GearQuestion, space: CascadeSpace, change: Change): boolean {
  const problem = { ...question.problem, ...change };
  const bound = relaxedBound(loadedCascades(problem, space.limits));
  return bound >= question.accuracy;
}
