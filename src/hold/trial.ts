import { itemAt, smallestOf } from '../collections/index.js';
import type { PlanBody, PooledOutcome, ProblemModel } from '../milp/index.js';
import type { HeldRates } from './held-rates.js';
import type { ModelSetting } from './settings.js';

/** FoundOutcome is the outcome of a problem that has a plan. */
export type FoundOutcome = Extract<PooledOutcome, { status: 'optimal' | 'feasible' }>;

/** isTimed returns whether a time limit or an interruption ended the search of a plan. */
export function isTimed(outcome: PooledOutcome): boolean {
  return 'limit' in outcome && (outcome.limit === 'time' || outcome.limit === 'interrupted');
}

/** HoldTrial is a plan that was made by settings, and what it holds. */
export interface HoldTrial {
  readonly settings: readonly ModelSetting[];
  readonly outcome: FoundOutcome;
  readonly heldRps: readonly number[];
  /** Larger is better: the least held rate per weight, or the negative price of a plan that holds its rates. */
  readonly value: number;
}

/**
 * leadOf gives the best of the trials: that of the largest value, and of equal ones, such as those of plans that do not
 * hold their rates, the one that comes closest to holding them; the first of several.
 * @param shareOf the share of its rates that a trial's plan holds
 */
export function leadOf(
  trials: readonly HoldTrial[],
  shareOf: (trial: HoldTrial) => number,
): HoldTrial | undefined {
  return trials.reduce<HoldTrial | undefined>((best, trial) => {
    if (best === undefined || trial.value > best.value) return trial;
    return trial.value === best.value && shareOf(trial) > shareOf(best) ? trial : best;
  }, undefined);
}

/** Confirmed is a trial with what simulations by seeds that nothing was chosen by say of its promise. */
export interface Confirmed extends HoldTrial {
  readonly rates: HeldRates;
  readonly seeds: readonly number[];
  /** The results of moving GPUs between pools; absent where no move was tried. */
  readonly moves?: { readonly variants: number; readonly moved: number };
}

/** leastPerWeight gives the least rate per unit of weight, of the models that weigh anything. */
export function leastPerWeight(models: readonly ProblemModel[], rps: readonly number[]): number {
  return smallestOf(models.flatMap(({ weight }, m) => (weight > 0 ? [itemAt(rps, m) / weight] : [])));
}

/** heldShareOf gives the share of its rate that the model furthest from it holds, at most 1. */
export function heldShareOf(heldRps: readonly number[], rps: readonly (number | undefined)[]): number {
  return Math.min(1, smallestOf(rps.map((rate = 0, m) => (rate === 0 ? 1 : (heldRps[m] ?? 0) / rate))));
}

/** planPrice gives what a plan costs, or the power that it takes. */
export function planPrice({ outcome }: Pick<HoldTrial, 'outcome'>): number {
  return outcome.plan.objective.value;
}

/** pipelinesOf gives text that is the same for plans that serve in the same way. */
export function pipelinesOf({ models }: PlanBody): string {
  return JSON.stringify(models.map(({ pipelines }) => pipelines));
}
