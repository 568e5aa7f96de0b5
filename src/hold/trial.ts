import type { PooledOutcome } from '../milp/index.js';
import type { HeldRates } from './held-rates.js';
import type { ModelSetting } from './settings.js';

/** FoundOutcome is the outcome of a problem that has a plan. */
export type FoundOutcome = Extract<PooledOutcome, { status: 'optimal' | 'feasible' }>;

/** HoldTrial is a plan that was made by settings, and what it holds. */
export interface HoldTrial {
  readonly settings: readonly ModelSetting[];
  readonly outcome: FoundOutcome;
  readonly heldRps: readonly number[];
  /** Larger is better: the least held rate per weight, or the negative price of a plan that holds its rates. */
  readonly value: number;
}

/** Confirmed is a trial with what simulations by seeds that nothing was chosen by say of its promise. */
export interface Confirmed extends HoldTrial {
  readonly rates: HeldRates;
  readonly seeds: readonly number[];
}
