/**
 * This room finds the plan that holds its promise: the one that serves the most requests within their SLOs in
 * simulation, or the cheapest one that serves the rates that were asked for.
 *
 * In goes a planning problem, the shares of requests that must be in time, and functions that plan, bound and simulate,
 * which the caller runs wherever it likes. Out comes a plan with the rates that it holds, the confidence of that, and a
 * bound that no plan can pass. The room reads no clock and no file, and draws no random numbers: seeds are handed on.
 * Start reading at `search.ts`.
 */
export { type HeldRates, heldRates, type RateSearch } from './held-rates.js';
export type { SimulatedRates } from './judge.js';
export {
  type HeldRun,
  heldRun,
  PROMISE_REQUESTS,
  PROMISE_SEEDS,
  RANKING_SEEDS,
  SEARCH_SEEDS,
  TRIAL_REQUESTS,
} from './runs.js';
export { atNoMargin, type HoldOutcome, searchHeld } from './search.js';
export { heldProblem } from './settings.js';
export type { HoldTarget } from './target.js';
export type { HoldProgress, HoldTools, RatedPlan } from './tools.js';
