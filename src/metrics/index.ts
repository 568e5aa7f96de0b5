/**
 * Folds over outcomes and times, defined in docs/metrics.md.
 *
 * In go counts and latencies, out come rates and exact percentiles. It knows no clock and prints nothing.
 */
export {
  noOutcomes,
  type Outcome,
  type OutcomeCounts,
  type OutcomeRates,
  outcomeRates,
} from './outcomes.js';
export { type LatencySummary, quantileOfSorted, summarizeLatencies } from './percentiles.js';
