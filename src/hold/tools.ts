import type { PlanBody, PooledOutcome, PooledProblem } from '../milp/index.js';
import type { HeldRates } from './held-rates.js';

/** HoldTools are what the search has others do, side by side where they can. Answers come in the order of the questions. */
export interface HoldTools {
  /** bounds gives the LP's bound of each problem, undefined for an infeasible one. */
  bounds(problems: readonly PooledProblem[]): Promise<(number | undefined)[]>;
  plans(problems: readonly PooledProblem[]): Promise<PooledOutcome[]>;
  /**
   * held gives the largest rates that plans hold by a few simulations, which begin at `startRps`. Here and below, rates
   * are undefined where the time was over before they were known.
   */
  held(plans: readonly RatedPlan[]): Promise<(HeldRates | undefined)[]>;
  /** ranked does so for one plan by more simulations of other seeds, and with confidence. */
  ranked(plan: RatedPlan): Promise<HeldRates | undefined>;
  /** promised does so by the seeds that are named. It looks for no larger rates than `startRps`. */
  promised(plan: RatedPlan, seeds: readonly number[]): Promise<HeldRates | undefined>;
  /** isOver says whether to try no more plans, and to confirm the best of those that were tried. */
  isOver(): boolean;
  readonly onProgress?: (progress: HoldProgress) => void;
}

/** RatedPlan is a plan with the rates at which its simulations begin, by model. */
export interface RatedPlan {
  readonly plan: PlanBody;
  readonly startRps: readonly number[];
  /** Rates that are enough: no larger one is looked for. */
  readonly enoughRps?: readonly number[];
  /** Rates that must be held together, else the plan is of no interest, and may be said to hold nothing. */
  readonly leastRps?: readonly number[];
}

/** HoldProgress says what a search is about to do. */
export interface HoldProgress {
  /**
   * `trying`: settings are planned and simulated. `ranking`: the plans that look best are compared. `moving`: GPUs are moved
   * between pools. `confirming`: a promise is judged by seeds of its own. `lowering`: cheaper plans are looked for.
   */
  readonly phase: 'trying' | 'ranking' | 'moving' | 'confirming' | 'lowering';
  /** How many plans the phase is done with. */
  readonly done: number;
  /** The most plans that it will take; absent where that is not known. */
  readonly of?: number;
  /** The best value so far: the held rate per unit of weight, or the price of a plan that holds. */
  readonly value?: number;
}
